import { event } from "@owed/outbox";
import { z } from "zod";

// Facts, in the past tense. A fact says what has happened; who listens is said elsewhere.

const order = z.object({
  orderId: z.string(),
  customer: z.email(),
  sku: z.string(),
  quantity: z.int().positive(),
  cents: z.int(),
});

export type Order = z.infer<typeof order>;

export const OrderPlaced = event("orders.placed", {
  version: 2,
  schema: order,
  key: (order) => order.orderId,
  // Version 1 had the price as text, such as "49.00". Its rows stay as they were written.
  upgrade: (placed) => {
    const { total, ...rest } = placed as { total: string };
    return { ...rest, cents: Math.round(Number(total) * 100) };
  },
});

export const StockReserved = event("stock.reserved", {
  version: 1,
  schema: order.pick({ orderId: true, sku: true, quantity: true }),
  key: (reservation) => reservation.sku,
});

// Without a schema: typed, and any JSON at run time.
export const StockArrived = event<{ sku: string; quantity: number }>("stock.arrived", {
  key: (arrival) => arrival.sku,
});

export const PaymentReceived = event("payments.received", {
  version: 1,
  schema: z.object({ orderId: z.string(), cents: z.int() }),
  key: (payment) => payment.orderId,
});

const offer = z.object({
  offerId: z.string(),
  customer: z.email(),
  sku: z.string(),
  cents: z.int(),
  expiresAt: z.iso.datetime(),
});

export type Offer = z.infer<typeof offer>;

export const OfferMade = event("offers.made", {
  version: 1,
  schema: offer,
  key: (offer) => offer.offerId,
});
