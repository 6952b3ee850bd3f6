import type { Migration } from "../storage.ts";
import type { Client, Joined, Row, Session, Statement } from "./clients/client.ts";
import { codeOf, isMissingSchema } from "./faults.ts";
import { lockOf, quoted } from "./identifiers.ts";
import { type Applied, migrationsOf, missingFrom, type Step } from "./migrations.ts";
import type { Statements } from "./statements.ts";

/** How long a migration waits for another one, or for a lock that it needs. */
const PATIENCE = "60s";

/** Brings a schema up to date and tells what it lacks. */
export class Migrations {
  readonly steps: readonly Step[];

  constructor(readonly schema: string, private readonly statements: Statements) {
    this.steps = migrationsOf(schema);
  }

  /** What the database lacks. */
  async pending(on: Session): Promise<Step[]> {
    return missingFrom(await this.#applied(on), this.steps, this.schema);
  }

  /** Applies what is missing, all of it or nothing, under a lock that is held by one process at a time. */
  async apply(client: Client<unknown>): Promise<Migration[]> {
    try {
      return await client.transaction((tx) => this.#applyIn(tx));
    } catch (error) {
      throw explained(error, this.schema);
    }
  }

  /** All steps from nothing, each with its record. Names and checksums are ours, so they need no quoting. */
  script(): string {
    const steps = this.steps.map(({ version, name, sql, checksum }) =>
      `-- Migration ${version} ${name}\n${sql.trim()}\n` +
      `insert into ${
        quoted(this.schema)
      }.migrations (version, name, checksum) values (${version}, '${name}', '${checksum}');\n`
    );
    const head = `create schema if not exists ${
      quoted(this.schema)
    };\n${this.statements.createMigrations.text.trim()};\n`;
    return `begin;\n${[head, ...steps].join("\n")}\ncommit;\n`;
  }

  async #applyIn(tx: Joined<unknown>): Promise<Migration[]> {
    await say(tx, `set local lock_timeout = '${PATIENCE}'`);
    await say(tx, `set local client_min_messages = 'warning'`);
    await tx.run(named("lock", "select pg_advisory_xact_lock($1::text::bigint)::text"), [lockOf(this.schema)], false);
    const known = await tx.run(
      named("schema", "select 1 from pg_namespace where nspname = $1::text"),
      [this.schema],
      false,
    );
    if (known.length === 0) await say(tx, `create schema ${quoted(this.schema)}`);
    await say(tx, this.statements.createMigrations);
    const missing = missingFrom(await readApplied(tx, this.statements), this.steps, this.schema);
    for (const step of missing) {
      await say(tx, step.sql);
      await tx.run(this.statements.recordMigration, [step.version, step.name, step.checksum], false);
    }
    return missing.map(({ version, name, sql }) => ({ version, name, sql }));
  }

  async #applied(on: Session): Promise<Applied[]> {
    try {
      return await readApplied(on, this.statements);
    } catch (error) {
      if (isMissingSchema(error)) return [];
      throw error;
    }
  }
}

async function readApplied(on: Session, statements: Statements): Promise<Applied[]> {
  const rows: readonly Row[] = await on.run(statements.appliedMigrations, [], false);
  return rows.map((row) => ({ version: Number(row[0]), name: String(row[1]), checksum: String(row[2]) }));
}

function named(name: string, text: string): Statement {
  return { name: `owed_${name}`, text };
}

async function say(on: Session, text: Statement | string): Promise<void> {
  await on.run(typeof text === "string" ? named("migrate", text) : text, [], false);
}

function explained(error: unknown, schema: string): unknown {
  const code = codeOf(error);
  if (code === "55P03") {
    return new Error(
      `Cannot migrate schema "${schema}": another session has held a lock for ${PATIENCE}; ` +
        `let it finish, or end it, and run "relay migrate" again`,
      { cause: error },
    );
  }
  if (code === "42501") {
    return new Error(
      `Cannot migrate schema "${schema}": this role may not create it or its tables; ` +
        `run "relay migrate" as a role that may, or give the output of "relay migrate --print" to somebody who can`,
      { cause: error },
    );
  }
  return error;
}
