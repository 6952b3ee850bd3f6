import { type Receiver, receiver } from "@owed/outbox";
import { OrderPlaced } from "./events.ts";
import type { Mailer } from "./mailer.ts";

/**
 * Mail leaves the database, so it is at least once, and the event's id is what a mail service deduplicates by.
 * Eager: the first attempt is made right after the commit, so the receipt is on its way before the customer has seen
 * the page. Whatever happens to that attempt, the relay takes over: a mail service that is down gets three hours at
 * most, and half of that on average, since each wait is drawn from below its ceiling.
 */
export function emailReceipt(mailer: Mailer): Receiver {
  return receiver(OrderPlaced, "receipts.email", async (order, ctx) => {
    const text = `Thank you for order ${order.orderId}: ${(order.cents / 100).toFixed(2)}`;
    await mailer.send({ id: ctx.eventId, to: order.customer, text }, ctx.signal);
  }, { eager: true, maxAttempts: 10, backoff: { base: { minutes: 2 }, cap: { minutes: 30 } } });
}
