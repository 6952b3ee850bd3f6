import assert from "node:assert/strict";
import { deliverPending, fire, receiver } from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { hostileErrors } from "./hostile.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

const after = { mode: "on-commit" } as const;

export const onCommitCases: Cases = {
  "they run once the change can be seen, before transaction resolves": async (given) => {
    const seen: number[] = [];
    const outbox = given.outbox([onOrder("after", async () => seen.push((await given.events()).length), after)]);
    await outbox.transaction(async (tx) => {
      await fire(tx, order());
      assert.deepEqual(seen, []);
    });
    assert.deepEqual(seen, [1]);
  },

  "pitfall 1: one that raises cancels no other, is logged, and the commit stands": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("sync", () => {
        throw new RangeError("secret one");
      }, after),
      onOrder("async", () => Promise.reject(new Error("secret two")), after),
      onOrder("last", () => ran.push("last"), after),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(ran, ["last"]);
    assert.equal((await given.events()).length, 1);
    const lines = given.logs.lines("error");
    assert.equal(lines.length, 2);
    assert.match(lines[0]!, /on-commit receiver sync failed with RangeError/);
    assert.match(lines[1]!, /on-commit receiver async failed with Error/);
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "whatever is thrown, the commit stands and the next one runs": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("hostile", ({ orderId }) => {
        throw Object.values(hostileErrors)[orderId];
      }, after),
      onOrder("last", ({ orderId }) => ran.push(orderId), after),
    ]);
    const numbers = Object.keys(hostileErrors).map((_, i) => i);
    await given.fire(outbox, ...numbers.map(order));
    assert.deepEqual(ran, numbers);
    assert.equal(given.logs.lines("error").length, numbers.length);
  },

  "they get the payload as it was fired, and no transaction": async (given) => {
    const seen: unknown[] = [];
    const outbox = given.outbox([
      onOrder("after", async (payload, ctx) => {
        seen.push(payload, Object.isFrozen(payload), ctx.deliveryId, ctx.receiverKey);
        await assert.rejects(ctx.transaction(), /nothing|no delivery/);
        await assert.rejects(ctx.acknowledge({}), TypeError);
      }, after),
    ]);
    await given.fire(outbox, order(5));
    assert.deepEqual(seen, [{ orderId: 5 }, true, "", "after"]);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "they can open a transaction of the outbox": async (given) => {
    const outbox = given.outbox([
      onOrder("after", () => outbox.transaction((tx) => given.note(tx.client, "after")), after),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await given.notes(), ["after"]);
  },

  "pitfall 22: what they fire names its cause, and what is fired next has none": async (given) => {
    const outbox = given.outbox([
      onOrder("after", async (_, ctx) => {
        await fire(ctx, StockReserved({ orderId: 1 }));
        await outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 2 })));
      }, after),
    ], { events: [StockReserved] });
    const [parent] = await given.fire(outbox, order());
    await given.fire(outbox, StockReserved({ orderId: 3 }));
    assert.deepEqual((await given.events()).map((event) => event.causationId), [null, parent, parent, null]);
  },

  "those of a receiver's child run once the receiver's work is committed": async (given) => {
    const seen: unknown[] = [];
    const outbox = given.outbox([
      onOrder("parent", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 }))),
      onChild("after", async () => seen.push(await given.outcomes())),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(seen, [["parent succeeded 1"]]);
  },

  "of a transaction that fails none runs": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([onOrder("after", () => ran.push("after"), after)]);
    await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order());
      void fire(tx, OrderPlaced({ orderId: NaN }));
    }));
    assert.deepEqual(ran, []);
  },
};

function onChild(key: string, handler: () => unknown) {
  return receiver(StockReserved, key, handler, after);
}
