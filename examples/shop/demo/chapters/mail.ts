import { deliverPending, outboxHealth, runRelay } from "@owed/outbox";
import { Throttled } from "../../mailer.ts";
import { makeOffer } from "../../offers.ts";
import { placeOrder } from "../../orders.ts";
import { emailReceipt } from "../../receipts.ts";
import { defaultCurve, waitsMs } from "../budget.ts";
import { claim, step } from "../claims.ts";
import { mail } from "../shop.ts";
import { after, debts, equal, HOUR, MINUTE, order, SECOND, type Stage, until, wait } from "../stage.ts";

/** A mail service that is down, and one that has had enough. Returns the events of the 20 offers. */
export async function mails(stage: Stage): Promise<string[]> {
  const { outbox } = stage;

  step("How long a receiver goes on trying can be added up", "receipts.ts");
  {
    const { backoffBaseMs, backoffCapMs, maxAttempts } = emailReceipt({ send: () => Promise.resolve() }).policy;
    const curve = { baseMs: backoffBaseMs!, capMs: backoffCapMs! };
    const longest = waitsMs(curve, maxAttempts!, 1);
    claim("a receipt waits for 3 hours at most", longest === 3 * HOUR, longest);
    const mean = waitsMs(curve, maxAttempts!, 0.5);
    claim("and, as each wait is drawn from below its ceiling, 1.5 hours on average", mean === 1.5 * HOUR, mean);
    const byDefault = waitsMs(defaultCurve, 8, 1);
    claim("8 attempts on the default curve are over after 254 s", byDefault === 254 * SECOND, byDefault);

    mail.trouble = new Error("421 the mail service is down");
    const id = await outbox.transaction((tx) => placeOrder(tx, order("order-7")));
    const receipt = async () => (await debts(stage, id)).receipt!;
    let row = await receipt();
    let now = after(row.owedSince);
    while (row.completedAt === null && wait(now, row.availableAt) < longest) {
      now = after(row.availableAt);
      await deliverPending(outbox, { now });
      row = await receipt();
    }
    mail.trouble = undefined;
    claim("with the mail service down, that of order 7 is attempted 10 times", row.attempts === 10, row);
    const inAll = -wait(now, row.owedSince);
    const isDead = row.status === "dead" && inAll > MINUTE && inAll <= longest;
    claim("and then it is dead, after no more than the 3 hours", isDead, [row.status, inAll]);
  }

  const offers = await outbox.transaction(async (tx) => {
    const ids = [];
    for (let i = 1; i <= 20; i++) {
      const customer = `customer-${i}@example.com`;
      ids.push(String(await makeOffer(tx, { offerId: `offer-${i}`, customer, sku: "lamp", cents: 3900 })));
    }
    return ids;
  });

  step("A throttle costs one call a pause, not one a mail", "offers.ts");
  {
    const rows = async () => await Promise.all(offers.map(async (id) => (await debts(stage, id)).offer!));
    const now = after((await rows()).at(-1)!.availableAt);
    const inHours = (hours: number) => new Date(now.getTime() + hours * HOUR);
    mail.trouble = new Throttled({ hours: 1 });
    mail.calls = mail.sent.length = 0;
    await deliverPending(outbox, { lane: "default", now });
    claim("20 offers are made; mail has a lane of its own, and a relay of another one sends none", mail.calls === 0);

    const first = await deliverPending(outbox, { lane: "mail", now });
    claim("the mail service wants to be left alone for an hour, and 1 call told it", mail.calls === 1, first);
    const [asked, ...rest] = await rows();
    claim("that attempt is not counted", asked?.status === "failed" && asked.attempts === 0, asked);
    const dueIn = wait(now, asked?.availableAt);
    claim("that mail is due again after 1 to 2 hours, not all at once", dueIn >= HOUR && dueIn <= 2 * HOUR, dueIn);
    const isUntouched = rest.every(({ status, attempts, lapses }) => status === "pending" && attempts + lapses === 0);
    claim("the other 19 keep their place, and can be had at once", isUntouched, rest[0]);

    await deliverPending(outbox, { lane: "mail", now: inHours(1) });
    claim("an hour later it still wants to be left alone, and that is 1 call more", mail.calls === 2, mail.calls);

    mail.trouble = new Throttled({ milliseconds: 300 });
    mail.calls = 0;
    const stopping = new AbortController();
    const startedAt = performance.now();
    // One at a time: more would have called already when the first is told to wait. After it they go one by one anyway.
    const relay = runRelay(outbox, { lane: "mail", concurrency: 1, signal: stopping.signal });
    await until(() => mail.calls >= 4);
    const most = 1 + Math.floor((performance.now() - startedAt) / 300);
    claim("a relay that is told 300 ms each time makes 1 call each time", mail.calls <= most, [mail.calls, most]);

    mail.trouble = undefined;
    await until(() => mail.sent.length === 18);
    stopping.abort();
    const counts = await relay;
    claim("and once it is let, it sends the 18 that are due", counts.succeeded === 18, counts);
    const last = await deliverPending(outbox, { lane: "mail", now: inHours(3) });
    claim("the other 2, put off by hours, go out when those are over", equal(last, { succeeded: 2 }), last);
    const isFirst = (await rows()).every(({ attempts }) => attempts === 1);
    claim("each at the price of 1 attempt, those that were put off too", isFirst);
    const { owed, scheduled } = await outboxHealth(outbox);
    const isScheduled = owed === 0 && scheduled === 20;
    claim("what is left are 20 expiries, scheduled and not yet owed", isScheduled, { owed, scheduled });
  }
  return offers;
}
