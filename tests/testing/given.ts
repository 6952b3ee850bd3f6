import { createClient } from "@libsql/client";
import { event, fireAll, type Outbox, type Receiver, receiver, type ReceiverOptions } from "../../mod.ts";
import type { EventInstance } from "../../mod.ts";
import { testOutbox, type TestOutboxOptions } from "../../src/testing/mod.ts";
import type { LibsqlTransaction } from "../../src/testing/mod.ts";

export type Order = { orderId: number; total: string; lines?: { sku: string; price?: string }[] };
export const OrderPlaced = event<Order>("orders.placed");
export const OrderPaid = event<{ orderId: number }>("orders.paid");

export const order = (orderId = 1, total = "49.00") => OrderPlaced({ orderId, total });

/** An outbox in memory, as an application's test opens one. */
export function opened(
  receivers: readonly Receiver<LibsqlTransaction>[],
  options: Partial<TestOutboxOptions<LibsqlTransaction>> = {},
): Outbox<LibsqlTransaction> {
  return testOutbox<LibsqlTransaction>({ client: createClient({ url: ":memory:" }), receivers, ...options });
}

export function onOrder(
  key: string,
  handler: (order: Order) => unknown = () => {},
  options: ReceiverOptions<Order> = {},
): Receiver<LibsqlTransaction> {
  return receiver(OrderPlaced, key, handler, options);
}

export async function fired(outbox: Outbox<LibsqlTransaction>, ...events: EventInstance[]): Promise<string[]> {
  return (await outbox.transaction((tx) => fireAll(tx, events))).map((id) => id!);
}
