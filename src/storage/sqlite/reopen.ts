import type { Instant } from "../../instant.ts";
import type { Reopened, Reopening } from "../storage.ts";
import { wantedOf } from "../wanted.ts";
import type { Database } from "./database.ts";
import { deliveriesText } from "./values.ts";

/** Makes deliveries owed again, in one write transaction, which keeps everybody else out. */
export async function reopen<Tx>(
  database: Database<Tx>,
  events: readonly Reopening[],
  now: Instant | null,
): Promise<Reopened> {
  const wanted = wantedOf(events);
  if (wanted.length === 0) return { reopened: 0, added: 0 };
  const { rememberSuccesses, reopen, appendMissing } = database.sql;
  const text = deliveriesText(wanted);
  const [, reopened, added] = await database.write([
    { sql: rememberSuccesses, args: [text] },
    { sql: reopen, args: [text, now] },
    { sql: appendMissing, args: [text, now] },
  ]);
  return { reopened: reopened!.length, added: added!.length };
}
