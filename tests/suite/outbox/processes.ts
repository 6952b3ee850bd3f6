import assert from "node:assert/strict";
import { deliverPending, fire } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, upTo } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

/** The storage of another process; where there can be but one connection, the only one. */
const elsewhere = (given: Given) => given.database.second ?? given.storage;

export const processCases: Cases = {
  "pitfall 53: a relay, another one and calls of deliverPending at the same time run each delivery once": async (
    given,
  ) => {
    const ran: number[] = [];
    const receivers = [
      onOrder("stock", async ({ orderId }) => {
        await Promise.resolve();
        ran.push(orderId);
      }),
    ];
    const here = given.outbox(receivers, { settings: { batchSize: 3 } });
    const there = given.outbox(receivers, { storage: elsewhere(given), settings: { batchSize: 5 } });
    await using _first = await given.relay(here);
    await using _second = await given.relay(there);
    for (const batch of upTo(10)) {
      await given.fire(here, ...upTo(20).map((n) => order((batch - 1) * 20 + n)));
      await Promise.all([deliverPending(here, { limit: 7 }), deliverPending(there, { concurrency: 4 })]);
    }
    const settled = async () => (await given.rows()).every((row) => row.status === "succeeded");
    await waitFor(settled, { what: "the last delivery" });
    assert.deepEqual(ran.sort((a, b) => a - b), upTo(200));
    assert.ok((await given.rows()).every((row) => row.attempts === 1 && row.lapses === 0));
  },

  "pitfall 61: the lease that a receiver declares is seen over another connection before the receiver runs": async (
    given,
  ) => {
    const left: number[] = [];
    const outbox = given.outbox([
      onOrder("long", async (_, ctx) => {
        const [row] = await elsewhere(given).findDeliveries({ receiverKey: "long" });
        left.push(Number(row!.leasedUntil! / 1000n) - Date.now());
        await ctx.transaction();
      }, { lease: { minutes: 30 } }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.ok(left[0]! > 29 * 60_000 && left[0]! < 31 * 60_000, `${left[0]} ms`);
  },

  "what one process fires another delivers, and answers": async (given) => {
    const shop = given.outbox([onOrder("stock")], { events: [StockReserved] });
    const warehouse = given.outbox([onOrder("stock", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 })))], {
      storage: elsewhere(given),
      events: [StockReserved],
    });
    const [parent] = await given.fire(shop, order());
    assert.deepEqual(await deliverPending(warehouse), { succeeded: 1 });
    assert.equal((await given.events()).at(-1)?.causationId, parent);
  },
};
