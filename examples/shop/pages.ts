import { attributed, type Outbox, settled } from "@owed/outbox";
import type { Order } from "./events.ts";
import { placeOrder } from "./orders.ts";

/** The model of an order's page. */
export interface OrderPage {
  orderId: string;
  eventId: string;
  state: "confirmed" | "processing" | "held up";
}

export interface User {
  id: string;
  name: string;
}

/** What a signed-in customer posts. The event's row names who did it, and the audit trail reads it there. */
export async function checkout(outbox: Outbox, user: User, order: Order): Promise<OrderPage> {
  const by = { actor: `user:${user.id}`, actorLabel: user.name, facts: { channel: "web" } };
  const eventId = await attributed(by, () => outbox.transaction((tx) => placeOrder(tx, order)));
  return await orderPage(outbox, order.orderId, eventId!);
}

/**
 * The stock is reserved soon after the order, and not with it: the page waits for that a moment, and then says what is
 * true. It never says "confirmed" because it will be so any second now.
 */
export async function orderPage(outbox: Outbox, orderId: string, eventId: string): Promise<OrderPage> {
  const patience = AbortSignal.timeout(300);
  try {
    const stock = await settled(outbox, eventId, { receivers: ["stock.reserve"], signal: patience });
    const isReserved = stock.every(({ status }) => status === "succeeded");
    return { orderId, eventId, state: isReserved ? "confirmed" : "held up" };
  } catch (error) {
    if (error !== patience.reason) throw error;
    return { orderId, eventId, state: "processing" };
  }
}
