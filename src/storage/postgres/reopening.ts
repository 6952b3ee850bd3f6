import type { Instant } from "../../instant.ts";
import type { NewDelivery } from "../records.ts";
import type { Reopened } from "../storage.ts";
import { debtsText } from "./appending.ts";
import type { Session } from "./clients/client.ts";
import { stampOrNull } from "./rows.ts";
import type { Statements } from "./statements.ts";

/** Locks the events that are still there, and makes their deliveries owed; in the caller's transaction. */
export async function reopen(
  on: Session,
  { lockEvents, reopen }: Statements,
  wanted: readonly NewDelivery[],
  now: Instant | undefined,
): Promise<Reopened> {
  const ids = [...new Set(wanted.map(({ eventId }) => eventId))];
  const there = new Set((await on.run(lockEvents, [JSON.stringify(ids)], false)).map(([id]) => String(id)));
  const debts = debtsText(wanted.filter(({ eventId }) => there.has(eventId)));
  const [row] = await on.run(reopen, [debts, stampOrNull(now)], false);
  return { reopened: Number(row![0]), added: Number(row![1]) };
}
