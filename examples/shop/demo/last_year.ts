/** The shop as it was released last year: its orders had the price as text. */
import { createOutbox, event, type Outbox, receiver, type Storage } from "@owed/outbox";

export const OrderPlaced = event<{ orderId: string; customer: string; sku: string; quantity: number; total: string }>(
  "orders.placed",
  { version: 1, key: (order) => order.orderId },
);

export function lastYearsOutbox(storage: Storage): Outbox {
  // The keys of today's receivers. These never run: the process ends before any relay comes.
  const keys = ["stock.reserve", "receipts.email", "audit.trail"];
  return createOutbox({
    app: "shop",
    release: "last year's",
    storage,
    receivers: keys.map((key) => receiver(OrderPlaced, key, () => {})),
  });
}
