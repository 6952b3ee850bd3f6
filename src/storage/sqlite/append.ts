import type { Instant } from "../../instant.ts";
import type { NewDelivery, NewEvent } from "../records.ts";
import type { Appended } from "../storage.ts";
import type { Statement } from "./clients/client.ts";
import { jsonOf } from "./rows.ts";
import type { Statements } from "./statements.ts";
import type { SqliteTransaction } from "./transaction.ts";
import { deliveriesText, eventsText } from "./values.ts";

/** Writes events and their debts: one batch of at most two statements, whatever their number. */
export async function append(
  sql: Statements,
  tx: SqliteTransaction<unknown>,
  events: readonly NewEvent[],
  deliveries: readonly NewDelivery[],
  now: Instant | null,
): Promise<Appended> {
  if (events.length === 0) return { duplicates: new Map() };
  const hasKeys = events.some((event) => event.dedupeKey !== null);
  const statements: Statement[] = [
    { sql: hasKeys ? sql.appendEventsOnce : sql.appendEvents, args: [eventsText(events), now] },
  ];
  if (deliveries.length > 0) {
    const isScheduled = deliveries.some(({ dueAt, dueInMs }) => dueAt !== null || dueInMs !== null);
    const insert = isScheduled ? sql.appendScheduled : sql.appendDeliveries;
    statements.push({ sql: insert, args: [deliveriesText(deliveries), now] });
  }
  const [rows] = await tx.run(statements);
  return {
    duplicates: hasKeys ? duplicatesOf(events, rows!.map((row) => jsonOf(row) as unknown as Stored)) : new Map(),
  };
}

interface Stored {
  readonly id: string;
  readonly name: string;
  readonly dedupeKey: string | null;
}

function duplicatesOf(events: readonly NewEvent[], stored: readonly Stored[]): Map<string, string> {
  const ids = new Map<string, string>();
  for (const { id, name, dedupeKey } of stored) {
    if (dedupeKey !== null) ids.set(JSON.stringify([name, dedupeKey]), id);
  }
  const duplicates = new Map<string, string>();
  for (const { id, name, dedupeKey } of events) {
    const there = dedupeKey === null ? undefined : ids.get(JSON.stringify([name, dedupeKey]));
    if (there !== undefined && there !== id) duplicates.set(id, there);
  }
  return duplicates;
}
