import { createHash } from "node:crypto";
import type { Migration } from "../storage.ts";
import type { Names } from "./names.ts";

/** The table that remembers what was applied; made before the first migration, under the same lock. */
export function createMigrations(names: Names): string {
  return `create table if not exists ${names("migrations")} (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict`;
}

/** The steps of the schema, numbered and named as on Postgres. Append-only: a step that was released never changes. */
export function migrationsFor(names: Names): readonly Migration[] {
  return [{ version: 1, name: "tables", sql: tables(names) }];
}

/** What tells an edited step from the one that was applied. */
export function checksumOf(migration: Migration): string {
  return createHash("sha256").update(migration.sql).digest("hex");
}

/** All steps from nothing, each with its record. Names and checksums are ours, so they need no quoting. */
export function scriptOf(names: Names, migrations: readonly Migration[]): string {
  const steps = migrations.map((migration) =>
    `-- Migration ${migration.version} ${migration.name}\n${migration.sql.trim()}\n` +
    `insert into ${names("migrations")} (version, name, checksum, applied_at) values (${migration.version}, ` +
    `'${migration.name}', '${checksumOf(migration)}', cast(round(unixepoch('subsec') * 1000) as integer) * 1000);\n`
  );
  return `begin immediate;\n${createMigrations(names)};\n\n${steps.join("\n")}\ncommit;\n`;
}

/** A step as the database remembers it. */
export interface AppliedMigration {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/**
 * The steps that are missing.
 *
 * @throws {Error} when the database has one that this release does not know, or one whose text differs
 */
export function missingOf(
  migrations: readonly Migration[],
  applied: readonly AppliedMigration[],
  storage: string,
): Migration[] {
  const known = new Map(migrations.map((migration) => [migration.version, migration]));
  for (const { version, name, checksum } of applied) {
    const migration = known.get(version);
    if (!migration) {
      throw new Error(
        `Cannot use the ${storage} database: it has migration "${version} ${name}", which this release does not know; ` +
          `use the release that applied it or a newer one`,
      );
    }
    if (migration.name !== name || checksumOf(migration) !== checksum) {
      throw new Error(
        `Cannot use the ${storage} database: its migration "${version} ${name}" is not the "${version} ` +
          `${migration.name}" of this release; restore the schema, or use the release that applied it`,
      );
    }
  }
  const done = new Set(applied.map(({ version }) => version));
  return migrations.filter(({ version }) => !done.has(version));
}

/**
 * Every table, so that no later release redraws them. Times are microseconds since the epoch.
 *
 * - Ids of deliveries are never used twice (`autoincrement`), so that an old task's message cannot name a new row.
 * - Owed is `completed_at is null`, and nothing else: neither a claim nor a renewal touches a column of any index or
 *   of an index's condition. Settled rows stay in place, where no claim meets them.
 * - `target_digest` is empty where the target is, so that the unique index holds for plain receivers too.
 * - No foreign keys: they cost a third of a fire, and whoever deletes events deletes their deliveries first.
 */
function tables(names: Names): string {
  const table = (name: string, columns: string, options = "strict") =>
    `create table ${names(name)} (\n${columns}\n) ${options};\n`;
  const index = (name: string, on: string, what: string, unique = "") =>
    `create ${unique}index ${names(name)} on ${names(on)} ${what};\n`;
  return table(
    "events",
    `  id text not null primary key,
  name text not null,
  version integer not null,
  key text,
  topic text,
  payload text not null,
  occurred_at integer not null,
  recorded_at integer not null,
  actor text,
  actor_label text,
  scope text,
  correlation_id text,
  causation_id text,
  trace text,
  dedupe_key text,
  suppressed_reason text,
  retention_seconds integer,
  delete_when text check (delete_when in ('succeeded', 'settled')),
  check (retention_seconds is null or delete_when is null)`,
  ) +
    index("events_dedupe", "events", "(name, dedupe_key) where dedupe_key is not null", "unique ") +
    index("events_correlation", "events", "(correlation_id) where correlation_id is not null") +
    index("events_causation", "events", "(causation_id) where causation_id is not null") +
    index("events_own_retention", "events", "(recorded_at) where retention_seconds is not null") +
    index("events_policy", "events", "(delete_when, recorded_at) where delete_when is not null") +
    table(
      "deliveries",
      `  id integer primary key autoincrement,
  event_id text not null,
  available_at integer not null,
  owed_since integer not null,
  leased_until integer,
  claimed_at integer,
  completed_at integer,
  due_at integer,
  attempts integer not null default 0,
  max_attempts integer not null,
  lapses integer not null default 0,
  status text not null default 'pending'
    check (status in ('pending', 'failed', 'succeeded', 'dead', 'orphaned', 'cancelled')),
  receiver_key text not null,
  target text not null default '',
  target_digest blob not null default x'',
  order_key text,
  claimed_by text,
  last_error text,
  check ((completed_at is null) = (status in ('pending', 'failed')))`,
    ) +
    index("deliveries_event", "deliveries", "(event_id, receiver_key, target_digest)", "unique ") +
    index("deliveries_owed", "deliveries", "(receiver_key, available_at, id) where completed_at is null") +
    index(
      "deliveries_ordered",
      "deliveries",
      "(receiver_key, order_key, id) where completed_at is null and order_key is not null",
    ) +
    index(
      "deliveries_ended",
      "deliveries",
      "(receiver_key, status, id) where status in ('dead', 'orphaned', 'cancelled')",
    ) +
    index("deliveries_succeeded", "deliveries", "(receiver_key, completed_at) where status = 'succeeded'") +
    table(
      "receiver_successes",
      `  receiver_key text not null primary key,
  last_succeeded_at integer not null`,
      "strict, without rowid",
    ) +
    table(
      "receivers",
      `  receiver_key text not null,
  app text not null,
  release text not null,
  last_seen integer not null,
  primary key (receiver_key, app)`,
      "strict, without rowid",
    ) +
    table(
      "inbox",
      `  id integer primary key autoincrement,
  consumer text not null,
  message_id text not null,
  received_at integer not null,
  available_at integer not null,
  leased_until integer,
  claimed_at integer,
  completed_at integer,
  attempts integer not null default 0,
  max_attempts integer not null,
  lapses integer not null default 0,
  status text not null default 'pending'
    check (status in ('pending', 'claimed', 'parked', 'processed', 'stale', 'ignored', 'dead', 'discarded')),
  topic text,
  version integer,
  key text,
  claimed_by text,
  last_error text,
  body blob,
  headers text,
  unique (consumer, message_id)`,
    ) +
    index("inbox_owed", "inbox", "(consumer, available_at, id) where completed_at is null") +
    index("inbox_completed", "inbox", "(completed_at) where completed_at is not null") +
    table(
      "ranks",
      `  consumer text not null,
  key text not null,
  rank integer not null,
  message_id text not null,
  updated_at integer not null,
  primary key (consumer, key)`,
      "strict, without rowid",
    ) +
    table(
      "dead_messages",
      `  id integer primary key autoincrement,
  consumer text not null,
  message_id text not null,
  topic text,
  version integer,
  key text,
  reason text not null,
  error text,
  attempts integer not null,
  received_at integer not null,
  died_at integer not null,
  body blob,
  headers text`,
    ) +
    index("dead_messages_consumer", "dead_messages", "(consumer, reason, died_at)") +
    index("dead_messages_message", "dead_messages", "(consumer, message_id)") +
    table(
      "consumers_seen",
      `  consumer text not null,
  topic text not null,
  version integer not null,
  last_seen integer not null,
  primary key (consumer, topic, version)`,
      "strict, without rowid",
    );
}
