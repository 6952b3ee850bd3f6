import assert from "node:assert/strict";
import { deliverPending, fire, receiver } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, later, upTo } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

export const orderCases: Cases = {
  "one at a time, they run in the order in which they came due, across receivers": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("a", ({ orderId }) => ran.push(`a${orderId}`)),
      onOrder("b", ({ orderId }) => ran.push(`b${orderId}`)),
    ]);
    for (const n of upTo(4)) await given.fire(outbox, order(n));
    await deliverPending(outbox);
    assert.deepEqual(ran, ["a1", "b1", "a2", "b2", "a3", "b3", "a4", "b4"]);
  },

  "what was fired together runs in the order in which it was fired": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("a", ({ orderId }) => ran.push(orderId)),
      receiver(StockReserved, "b", ({ orderId }) => ran.push(orderId)),
    ]);
    const numbers = upTo(60);
    await given.fire(outbox, ...numbers.map((n) => n % 3 === 0 ? StockReserved({ orderId: n }) : order(n)));
    await deliverPending(outbox);
    assert.deepEqual(ran, numbers);
  },

  "the order holds over several claims": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("a", ({ orderId }) => ran.push(orderId))]);
    for (const n of upTo(25)) await given.fire(outbox, order(n));
    assert.deepEqual(await deliverPending(outbox, { batchSize: 4 }), { succeeded: 25 });
    assert.deepEqual(ran, upTo(25));
  },

  "an async receiver is finished before the next one starts": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("a", async ({ orderId }) => {
        ran.push(`start ${orderId}`);
        await given.events();
        ran.push(`end ${orderId}`);
      }),
    ]);
    await given.fire(outbox, order(1), order(2), order(3));
    await deliverPending(outbox);
    assert.deepEqual(ran, ["start 1", "end 1", "start 2", "end 2", "start 3", "end 3"]);
  },

  "pitfall 93: a retry waits behind what came due before it": async (given) => {
    const ran: number[] = [];
    let failed = false;
    const outbox = given.outbox([
      onOrder("a", ({ orderId }) => {
        ran.push(orderId);
        if (orderId === 1 && !failed) {
          failed = true;
          throw new Error("no luck");
        }
      }),
    ]);
    await given.fire(outbox, order(1));
    await deliverPending(outbox, { now: later({ minutes: 1 }) });
    for (const n of upTo(20)) await given.fire(outbox, order(n + 1));
    await deliverPending(outbox, { now: later({ hours: 2 }) });
    assert.deepEqual(ran, [1, ...upTo(20).map((n) => n + 1), 1]);
  },

  "as many run at a time as concurrency allows, and no more": async (given) => {
    const allowed = Math.min(3, given.storage.capabilities.maxConcurrency);
    let running = 0;
    let most = 0;
    let done = 0;
    const outbox = given.outbox([
      onOrder("a", async () => {
        most = Math.max(most, ++running);
        await waitFor(() => most === allowed || done > 0, { what: "the others to start" });
        running--;
        done++;
      }),
    ]);
    await given.fire(outbox, ...upTo(12).map(order));
    assert.deepEqual(await deliverPending(outbox, { concurrency: 3 }), { succeeded: 12 });
    assert.equal(most, allowed);
  },

  "what a delivery fires is delivered by the same call": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("parent", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 }))),
      receiver(StockReserved, "child", () => ran.push("child")),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(ran, ["child"]);
  },
};
