import type { Statement } from "./clients/client.ts";
import { type ClaimStatements, claimStatements } from "./statements/claim.ts";
import { type FireStatements, fireStatements } from "./statements/fire.ts";
import { type LookStatements, lookStatements } from "./statements/look.ts";
import { type ReopenStatements, reopenStatements } from "./statements/reopen.ts";
import { type SettleStatements, settleStatements } from "./statements/settle.ts";
import { isMarked, schemaOf } from "./statements/shared.ts";

/**
 * Every statement of this backend, one per verb.
 *
 * Batches travel as one JSON text, because a driver that was told not to fetch the types of arrays cannot send any;
 * keys and ids of them go through `array(select ...)`, which the planner takes for ten rows and not for a hundred.
 */
export interface Statements
  extends FireStatements, ClaimStatements, SettleStatements, ReopenStatements, LookStatements {
  readonly wake: Statement;
  readonly doom: Statement;
  readonly appliedMigrations: Statement;
  readonly createMigrations: Statement;
  readonly recordMigration: Statement;
}

/** The statements over a schema. */
export function statementsOf(name: string): Statements {
  const schema = schemaOf(name);
  const { owed, named } = schema;
  return {
    ...fireStatements(schema),
    ...claimStatements(schema),
    ...settleStatements(schema),
    ...reopenStatements(schema),
    ...lookStatements(schema),

    // $1 channel, $2 payload. Always from a connection of ours: NOTIFY takes a lock that the caller's commit would wait for.
    wake: named("wake", `select pg_notify($1::text, $2::text)::text`),

    // $1 mark. Raises: after it the server can only roll back. Not when the mark is gone: it is somebody else's then.
    doom: named(
      "doom",
      `select (case when ${isMarked(1)} then 'this transaction was refused and cannot commit' end)::int`,
    ),

    appliedMigrations: named(
      "applied_migrations",
      `select version, name, checksum from ${owed}.migrations order by version`,
    ),
    createMigrations: named(
      "create_migrations",
      `
create table if not exists ${owed}.migrations (
  version int primary key, name text not null, checksum text not null,
  applied_at timestamptz not null default statement_timestamp())`,
    ),
    recordMigration: named(
      "record_migration",
      `insert into ${owed}.migrations (version, name, checksum) values ($1::int, $2::text, $3::text)`,
    ),
  };
}
