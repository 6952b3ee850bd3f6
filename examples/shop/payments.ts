import { fire, type Outbox, receiver } from "@owed/outbox";
import { PaymentReceived } from "./events.ts";
import { sqlIn } from "./sql.ts";

/** What the payment service posts, more than once if it thinks that we did not hear it. */
export interface PaymentNotice {
  noticeId: string;
  orderId: string;
  cents: number;
}

/**
 * The notice is the fact and changes nothing by itself, so it is fired into the outbox rather than into a transaction.
 * The second notice of a payment finds its dedupe key taken and gets the id of the first.
 */
export function receivePayment(outbox: Outbox, { noticeId, orderId, cents }: PaymentNotice): Promise<string | null> {
  return fire(outbox, PaymentReceived({ orderId, cents }), { dedupeKey: noticeId, onDuplicate: "ignore" });
}

/** Adds up, which is only right because it happens exactly once. */
export const creditOrder = receiver(PaymentReceived, "orders.credit", async ({ orderId, cents }, ctx) => {
  const sql = sqlIn(await ctx.transaction());
  await sql`update orders set paid_cents = paid_cents + ${cents} where order_id = ${orderId}`;
});
