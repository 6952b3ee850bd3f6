import assert from "node:assert/strict";
import { z } from "zod";
import { assertFired, drainOutbox, event, fire, receiver } from "../../../mod.ts";
import { type Cases, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

export const drainCases: Cases = {
  "it skips the backoff, so that one call reaches the dead letter": async (given) => {
    const options = { maxAttempts: 4, backoff: { base: { hours: 1 }, cap: { hours: 1 } } };
    const outbox = given.outbox([failing("mail", options), onOrder("stock")]);
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { failed: 3, dead: 1, succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["mail dead 4", "stock succeeded 1"]);
  },

  "what it delivers and fires is drained too": async (given) => {
    const outbox = given.outbox([
      onOrder("again", ({ orderId }, ctx) => orderId < 5 ? fire(ctx, order(orderId + 1)) : undefined),
    ]);
    await given.fire(outbox, order(1));
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 5 });
  },

  "an empty outbox is drained": async (given) => {
    assert.deepEqual(await drainOutbox(given.outbox([onOrder("stock")])), {});
  },

  "now moves the claims, and not the receiver's clock": async (given) => {
    const seen: number[] = [];
    const outbox = given.outbox([onOrder("stock", (_, ctx) => seen.push(Date.now() - ctx.dueAt.getTime()))]);
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: -1 }) }), {});
    assert.deepEqual(await drainOutbox(outbox, { now: { epochMilliseconds: later({ hours: 48 }).getTime() } }), {
      succeeded: 1,
    });
    assert.ok(seen[0]! < 60_000);
  },

  "pitfall 99: a scheduled row is left alone until its moment": async (given) => {
    const due = later({ hours: 48 });
    const outbox = given.outbox([onOrder("stock"), onOrder("expire")]);
    await given.fire(outbox, order());
    const { table, query } = given.database;
    const at = given.oneWriter ? String(due.getTime() * 1000) : `'${due.toISOString()}'`;
    const set = `update ${table("deliveries")} set due_at = ${at}, available_at = ${at} where receiver_key = 'expire'`;
    await query(set);
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 47 }) }), {});
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 49 }) }), { succeeded: 1 });
  },

  "a signal ends it": async (given) => {
    const stop = new AbortController();
    const outbox = given.outbox([onOrder("stock", () => stop.abort())]);
    await given.fire(outbox, ...upTo(3).map(order));
    assert.deepEqual(await drainOutbox(outbox, { signal: stop.signal }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "stock pending 0", "stock pending 0"]);
  },
};

export const assertFiredCases: Cases = {
  "it gives the payloads as receivers get them, in their order": async (given) => {
    const Placed = event("orders.placed", {
      schema: z.object({ at: z.iso.date().transform((text) => new Date(text)) }),
    });
    const outbox = given.outbox([receiver(Placed, "stock", () => {})]);
    await given.fire(outbox, Placed({ at: "2020-01-02" }), Placed({ at: "2020-01-03" }));
    const fired = await assertFired(outbox, Placed);
    assert.deepEqual(fired.map(({ at }) => at.getUTCDate()), [2, 3]);
  },

  "times must be met exactly": async (given) => {
    const outbox = given.outbox([onOrder("stock")], { events: [StockReserved] });
    await given.fire(outbox, order(1), order(2));
    assert.equal((await assertFired(outbox, OrderPlaced, { times: 2 })).length, 2);
    assert.deepEqual(await assertFired(outbox, StockReserved, { times: 0 }), []);
    for (const times of [0, 1, 3]) {
      await assert.rejects(assertFired(outbox, OrderPlaced, { times }), { name: "AssertionError", message: /2 times/ });
    }
  },

  "pitfall 170: it fails for an event that was not fired, and says what was": async (given) => {
    const outbox = given.outbox([onOrder("stock")], { events: [StockReserved] });
    await assert.rejects(assertFired(outbox, OrderPlaced), { name: "AssertionError", message: /nothing was fired/ });
    await given.fire(outbox, order(1), order(2));
    await assert.rejects(assertFired(outbox, StockReserved), {
      name: "AssertionError",
      message: /"stock\.reserved".*at least once.*"orders\.placed" \(2\)/,
    });
  },

  "what was rolled back was not fired": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order());
      throw new Error("undo");
    }));
    await assert.rejects(assertFired(outbox, OrderPlaced), { name: "AssertionError" });
  },

  "pitfall 171: a payload that no receiver could be given fails it": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order());
    const Stricter = event("orders.placed", { schema: z.object({ orderId: z.string() }) });
    const outbox = given.outbox([], { events: [Stricter] });
    await assert.rejects(assertFired(outbox, Stricter), { name: "AssertionError", message: /cannot be decoded/ });
  },

  "an event that is not declared here is refused": async (given) => {
    await assert.rejects(assertFired(given.outbox([onOrder("stock")]), StockReserved), TypeError);
    await assert.rejects(assertFired(given.outbox([]), undefined as never), TypeError);
  },
};
