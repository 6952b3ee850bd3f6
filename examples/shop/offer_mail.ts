import { type Handler, RetryAfter } from "@owed/outbox";
import type { Offer } from "./events.ts";
import { type Mailer, Throttled } from "./mailer.ts";

/** A provider that throttles is no failure of this mail: it spends no attempt, and the lane waits as long as asked. */
export function sendOffer(mailer: Mailer): Handler<Offer> {
  return async ({ customer, sku, cents, expiresAt }, ctx) => {
    const text = `Only until ${expiresAt}: one ${sku} for ${(cents / 100).toFixed(2)}`;
    try {
      await mailer.send({ id: ctx.eventId, to: customer, text }, ctx.signal);
    } catch (error) {
      if (!(error instanceof Throttled)) throw error;
      throw new RetryAfter(error.retryAfter, { reason: error.message, counts: false });
    }
  };
}
