/**
 * All SQL of this backend but the schema's, one statement per verb.
 *
 * What holds for each: integers leave as text inside one JSON column, so that no driver's integer mode matters and
 * nothing above 2^53 is rounded; batches arrive as one JSON text parameter, since preparing is what costs here; a
 * parameter `now` that is null means this statement's own clock.
 */
import type { Names } from "./names.ts";
import { type ClaimStatements, claimStatements } from "./statements/claim.ts";
import { type FireStatements, fireStatements } from "./statements/fire.ts";
import { type LookStatements, lookStatements } from "./statements/look.ts";
import { type ReopenStatements, reopenStatements } from "./statements/reopen.ts";
import { type SettleStatements, settleStatements } from "./statements/settle.ts";
import { CLOCK, tablesOf } from "./statements/shared.ts";

/** The statements over the tables of one prefix. Wakes never leave the process: there is none for them. */
export interface Statements
  extends FireStatements, ClaimStatements, SettleStatements, ReopenStatements, LookStatements {
  readonly lock: string;
  readonly schemaOf: string;
  readonly appliedMigrations: string;
  readonly recordMigration: string;
}

/** Builds the statements for the tables of a prefix. */
export function statementsFor(names: Names): Statements {
  const tables = tablesOf(names);
  const { migrations } = tables;
  return {
    ...fireStatements(tables),
    ...claimStatements(tables),
    ...settleStatements(tables),
    ...reopenStatements(tables),
    ...lookStatements(tables),

    // Changes nothing and takes the write lock; on a database without the schema it fails, and says so.
    lock: `delete from ${migrations} where false`,
    schemaOf: "select name as row from sqlite_master where type = 'table' and name = ?1",
    appliedMigrations: `
    select json_object('version', version, 'name', name, 'checksum', checksum) as row
    from ${migrations} order by version`,
    recordMigration: `
    insert into ${migrations} (version, name, checksum, applied_at) values (?1, ?2, ?3, ${CLOCK})`,
  };
}
