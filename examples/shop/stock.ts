import { fire, fireAll, receiver, type Tx } from "@owed/outbox";
import { OrderPlaced, StockArrived, StockReserved } from "./events.ts";
import { sqlIn } from "./sql.ts";

/**
 * Durable, and exactly once: what it writes in `ctx.transaction()`, and the event that it fires with `ctx`, commit
 * together with the record that this delivery has succeeded.
 */
export const reserveStock = receiver(OrderPlaced, "stock.reserve", async ({ orderId, sku, quantity }, ctx) => {
  const sql = sqlIn(await ctx.transaction());
  await sql`update stock set on_hand = on_hand - ${quantity} where sku = ${sku}`;
  await sql`insert into reservations (order_id, sku, quantity) values (${orderId}, ${sku}, ${quantity})`;
  await fire(ctx, StockReserved({ orderId, sku, quantity }));
});

/** A lorry full of goods: any number of events in one round trip. */
export async function receiveGoods(tx: Tx, goods: { sku: string; quantity: number }[]): Promise<(string | null)[]> {
  const sql = sqlIn(tx);
  for (const { sku, quantity } of goods) {
    await sql`insert into stock (sku, on_hand) values (${sku}, ${quantity})
      on conflict (sku) do update set on_hand = stock.on_hand + excluded.on_hand`;
  }
  return await fireAll(tx, goods.map((one) => StockArrived(one)));
}
