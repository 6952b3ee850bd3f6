import { fire, lazy, NotYet, type Receiver, receiver, type Tx } from "@owed/outbox";
import { type Offer, OfferMade } from "./events.ts";
import type { Mailer } from "./mailer.ts";
import { sqlIn } from "./sql.ts";

/** An offer that stands for 48 hours. */
export async function makeOffer(tx: Tx, offer: Omit<Offer, "expiresAt">): Promise<string | null> {
  const expiresAt = new Date(Date.now() + 48 * 60 * 60 * 1000).toISOString();
  await sqlIn(tx)`insert into offers (offer_id, expires_at) values (${offer.offerId}, ${expiresAt})`;
  return await fire(tx, OfferMade({ ...offer, expiresAt }));
}

export async function extendOffer(tx: Tx, offerId: string, until: Date): Promise<void> {
  await sqlIn(tx)`update offers set expires_at = ${until.toISOString()} where offer_id = ${offerId}`;
}

/**
 * Offers are mailed in bursts, so they have a lane of their own, behind which no receipt waits. A process that only
 * makes offers never loads the template.
 */
export function mailOffer(mailer: Mailer): Receiver {
  return receiver(OfferMade, "offers.mail", lazy(async () => (await import("./offer_mail.ts")).sendOffer(mailer)), {
    lane: "mail",
    giveUpAfter: { days: 2 },
  });
}

/** The row is there from the start, and waits for its moment; one that has moved meanwhile is waited for again. */
export const expireOffer = receiver(OfferMade, "offers.expire", async ({ offerId }, ctx) => {
  const sql = sqlIn(await ctx.transaction());
  const [offer] = await sql`select expires_at from offers where offer_id = ${offerId}`;
  const expiresAt = new Date(String(offer?.expires_at));
  // With the moment that was due, so that a clock which was moved counts; with now, so that a late row is not put off.
  if (expiresAt.getTime() > Math.max(ctx.dueAt.getTime(), Date.now())) throw new NotYet(expiresAt);
  await sql`update offers set state = 'expired' where offer_id = ${offerId}`;
}, { due: ({ expiresAt }) => new Date(expiresAt) });
