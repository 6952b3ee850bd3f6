import { PermanentFailure, type Receiver, receiver, RetryAfter, type Tx } from "@owed/outbox";
import { OrderPlaced } from "./events.ts";
import { sqlIn } from "./sql.ts";

/** `fetch`, or what stands in for it. */
export type Http = (url: string, request: RequestInit) => Promise<Response>;

/** A partner is a URL that hears of every order from now on; of older ones by a replay. */
export async function subscribe(tx: Tx, url: string): Promise<void> {
  await sqlIn(tx)`insert into partners (url) values (${url})`;
}

export async function unsubscribe(tx: Tx, url: string): Promise<void> {
  await sqlIn(tx)`delete from partners where url = ${url}`;
}

/**
 * Fans out: a delivery of its own for each partner, so that one who does not answer keeps no other waiting. What a
 * partner says of itself is better than any guess: one that is gone is not asked again, and one that names a time is
 * asked then.
 */
export function notifyPartners(http: Http): Receiver {
  return receiver(OrderPlaced, "partners.notify", async ({ orderId, sku, quantity }, ctx) => {
    const { status, headers } = await http(ctx.target, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": `${ctx.eventId}/${ctx.receiverKey}` },
      body: JSON.stringify({ orderId, sku, quantity }),
      signal: ctx.signal,
    });
    if (status === 410) throw new PermanentFailure("410 Gone: the partner has retired this address");
    const retryAfter = headers.get("retry-after");
    if (status === 429 && retryAfter !== null) throw new RetryAfter({ seconds: Number(retryAfter) });
    if (status >= 300) throw new Error(`The partner answered ${status}`);
  }, {
    targets: async (_order, ctx) => {
      const partners = await sqlIn(await ctx.transaction())`select url from partners order by url`;
      return partners.map(({ url }) => String(url));
    },
  });
}
