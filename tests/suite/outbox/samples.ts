import { type DeliveryContext, event, type Receiver, receiver, type ReceiverOptions } from "../../../mod.ts";

/** What most cases fire. */
export const OrderPlaced = event<{ orderId: number }>("orders.placed");

/** Another one, fired because of the first. */
export const StockReserved = event<{ orderId: number }>("stock.reserved");

/** An order with this number. */
export const order = (orderId = 1) => OrderPlaced({ orderId });

/** A receiver of orders. */
export function onOrder(
  key: string,
  handler: (order: { orderId: number }, ctx: DeliveryContext) => unknown = () => {},
  options: ReceiverOptions = {},
): Receiver {
  return receiver(OrderPlaced, key, handler, options);
}

/** A receiver that fails each time. */
export function failing(key: string, options: ReceiverOptions = {}, error: unknown = new Error("no luck")): Receiver {
  return onOrder(key, () => {
    throw error;
  }, options);
}
