import { drainOutbox, type Outbox } from "@owed/outbox";
import { extendOffer } from "../../offers.ts";
import { claim, step } from "../claims.ts";
import { after, DAY, debts, equal, HOUR, type Stage } from "../stage.ts";

/** Work that is due in two days, on a clock that is moved. Begins with 20 offers. */
export async function offers(stage: Stage, made: string[]): Promise<void> {
  const { outbox, database: { sql } } = stage;
  const expired = async () => (await sql`select offer_id from offers where state = 'expired'`).length;
  const expiryOf = async (id: string) => (await debts(stage, id)).expiry!;
  const first = () => expiryOf(made[0]!);
  const last = await expiryOf(made.at(-1)!);
  const drain = (outbox: Outbox, ms: number) => drainOutbox(outbox, { now: after(last.dueAt!, ms) });

  step("An offer expires after 48 hours, unless it was extended", "offers.ts");
  const rows = await Promise.all(made.map(expiryOf));
  const isWaiting = rows.every(({ dueAt, claimedAt }) => dueAt !== null && claimedAt === null);
  claim("the rows were written with the offers, and no relay has touched them since", isWaiting, rows[0]);
  const early = await drain(outbox, -HOUR);
  claim("after 47 hours nothing happens", equal(early, {}) && await expired() === 0, early);

  const until = after((await first()).dueAt!, DAY);
  await outbox.transaction((tx) => extendOffer(tx, "offer-1", until));
  const due = await drain(outbox, 0);
  claim("after 48 hours 19 of the 20 have expired", await expired() === 19, due);
  const { status, attempts, dueAt, lastError } = await first();
  claim("offer 1 was extended by a day: its row is pending again", status === "pending" && attempts === 0, status);
  claim("due at the very moment until which it was extended", dueAt === BigInt(until.getTime()) * 1000n, dueAt);
  claim("and that is no failure", lastError === null, lastError);

  const late = await drain(outbox, DAY + HOUR);
  claim("a day later it has expired too", equal(late, { succeeded: 1 }) && await expired() === 20, late);
}
