import { fire, type Outbox, receiver, suppressed, type Tx } from "@owed/outbox";
import { type Order, OrderPlaced } from "./events.ts";
import { sqlIn } from "./sql.ts";

const LIMIT_CENTS = 100_000;

/** The order and the fact that it was placed, in one transaction: both are there, or neither is. */
export async function placeOrder(tx: Tx, order: Order): Promise<string | null> {
  const { orderId, customer, cents } = order;
  await sqlIn(tx)`insert into orders (order_id, customer, cents) values (${orderId}, ${customer}, ${cents})`;
  return await fire(tx, OrderPlaced(order));
}

/** Orders from before this shop: facts like any other, but nobody reserves stock or writes to a customer for them. */
export function importOrders(outbox: Outbox, orders: Order[], reason: string): Promise<void> {
  return suppressed({ events: [OrderPlaced], reason }, () =>
    outbox.transaction(async (tx) => {
      for (const order of orders) await placeOrder(tx, order);
    }));
}

/** Inline: runs inside the transaction that fires, and its error forbids the order. */
export const checkLimit = receiver(OrderPlaced, "orders.limit", (order) => {
  if (order.cents > LIMIT_CENTS) throw new OverLimit(order.orderId);
}, { mode: "inline" });

export class OverLimit extends Error {
  override readonly name = "OverLimit";

  constructor(orderId: string) {
    super(`Cannot place order ${orderId}: it is over the limit of ${LIMIT_CENTS / 100}`);
  }
}
