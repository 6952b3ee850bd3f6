import { deliverPending, replayEvents } from "@owed/outbox";
import { placeOrder } from "../../orders.ts";
import { subscribe, unsubscribe } from "../../partners.ts";
import { claim, step } from "../claims.ts";
import { warnings } from "../logs.ts";
import { answers, called } from "../shop.ts";
import { after, DAY, equal, HOUR, MINUTE, order, partnersOf, SECOND, type Stage, wait } from "../stage.ts";

const CONTENT = "https://content.example/orders";
const BUSY = "https://busy.example/orders";
const CLOSED = "https://closed-for-two-days.example/orders";
const RETIRED = "https://retired.example/orders";
const LATE = "https://late.example/orders";

/** A fan-out, and what its receiver makes of the partners' answers. */
export async function partners(stage: Stage): Promise<void> {
  const { outbox } = stage;
  answers.set(BUSY, { status: 429, headers: { "retry-after": "120" } });
  answers.set(CLOSED, { status: 429, headers: { "retry-after": String((2 * DAY) / SECOND) } });
  answers.set(RETIRED, { status: 410, headers: {} });
  await outbox.transaction(async (tx) => {
    for (const url of [CONTENT, BUSY, CLOSED, RETIRED]) await subscribe(tx, url);
  });
  const id = String(await outbox.transaction((tx) => placeOrder(tx, order("order-6"))));
  const debts = () => partnersOf(stage, id);

  step("One order, a debt for each partner; and each answers as it likes", "partners.ts");
  const owed = await debts();
  claim("4 partners are subscribed, and order 6 is owed to each", owed.size === 4, [...owed.keys()]);
  const now = after(owed.get(CONTENT)!.availableAt);
  await deliverPending(outbox, { now });
  {
    const rows = await debts();
    const content = rows.get(CONTENT);
    const retired = rows.get(RETIRED);
    const isPaid = content?.status === "succeeded" && content.attempts === 1;
    claim("the first is content, and its debt is paid, whatever the others do", isPaid, content);
    const isDead = retired?.status === "dead" && retired.attempts === 1 && retired.maxAttempts === 3;
    claim("one has retired (410): its debt is dead with 1 of its 3 attempts", isDead, retired);
    const busyFor = wait(now, rows.get(BUSY)?.availableAt);
    claim("one is busy (429): it is asked again in exactly the 120 s that it named", busyFor === 2 * MINUTE, busyFor);
    const closedFor = wait(now, rows.get(CLOSED)?.availableAt);
    claim("one names two days: it is asked again in one day, the most that anybody gets", closedFor === DAY, closedFor);
    const warning = warnings.find((line) => line.includes("172800") && line.includes("86400"));
    claim("and a warning has both numbers, 172800 s and 86400 s", warning !== undefined, warnings);
  }

  step("A debt outlives the trouble", "partners.ts");
  {
    answers.delete(BUSY);
    answers.delete(CLOSED);
    called.length = 0;
    await deliverPending(outbox, { now: new Date(now.getTime() + 2 * MINUTE - 1) });
    claim("a millisecond too early, the busy partner is left alone", called.length === 0, called);
    await deliverPending(outbox, { now: new Date(now.getTime() + 2 * MINUTE) });
    const busy = (await debts()).get(BUSY);
    claim("after 120 s its debt is paid, by its second attempt", paidBy(busy, 2), busy);
    await deliverPending(outbox, { now: new Date(now.getTime() + DAY + HOUR) });
    const closed = (await debts()).get(CLOSED);
    claim("and a day later that of the other one too", paidBy(closed, 2), closed);
  }

  step("A partner who comes late gets the order by a replay, and one who left is left alone", "partners.ts");
  {
    await outbox.transaction(async (tx) => {
      for (const url of [BUSY, CLOSED, RETIRED]) await unsubscribe(tx, url);
      await subscribe(tx, LATE);
    });
    const before = await debts();
    const replayed = await replayEvents(outbox, [id], { receivers: ["partners.notify"] });
    claim("the replay of order 6 reopens 1 debt and adds 1", equal(replayed, { reopened: 1, added: 1 }), replayed);
    called.length = 0;
    await deliverPending(outbox);
    const now = await debts();
    claim("the late partner has its debt paid", paidBy(now.get(LATE), 1), now.get(LATE));
    const again = called.find(({ url }) => url === CONTENT);
    const isSame = again?.key === `${id}/partners.notify`;
    claim("the one that stayed is called again, under the same idempotency key", isSame, called);
    const left = [BUSY, CLOSED, RETIRED].every((url) => equal(now.get(url), before.get(url)));
    claim("the rows of the three that have left are as they were", left && now.size === 5);
  }
}

function paidBy(debt: { status: string; attempts: number } | undefined, attempts: number): boolean {
  return debt?.status === "succeeded" && debt.attempts === attempts;
}
