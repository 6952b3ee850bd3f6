import assert from "node:assert/strict";
import { deliverPending, fire, ReceiverTimeout } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, later } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

const timeout = { timeout: { milliseconds: 60 } };
const forEver = () => new Promise<never>(() => {});

export const timeoutCases: Cases = {
  "a receiver that never returns has failed, and the next delivery runs": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("hangs", forEver, timeout),
      onOrder("next", ({ orderId }) => ran.push(orderId)),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1, succeeded: 1 });
    assert.deepEqual(ran, [1]);
    const row = await given.row("hangs");
    assert.deepEqual([row.status, row.attempts], ["failed", 1]);
    assert.match(row.lastError!, /^ReceiverTimeout: Receiver "hangs" did not finish within its timeout of 60 ms/);
  },

  "its signal aborts with ReceiverTimeout": async (given) => {
    const reasons: unknown[] = [];
    const outbox = given.outbox([
      onOrder("hangs", async (_, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        reasons.push(signal.reason);
        throw signal.reason;
      }, timeout),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    await waitFor(() => reasons.length === 1, { what: "the receiver to hear of it" });
    assert.ok(reasons[0] instanceof ReceiverTimeout);
    assert.deepEqual(await given.outcomes(), ["hangs failed 1"]);
  },

  "in the middle of its transaction: the work is undone, and the row is tried again": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("hangs", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, `attempt ${++runs}`);
        if (runs === 1) await forEver();
      }, { timeout: { milliseconds: 200 } }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.match((await given.row()).lastError!, /^ReceiverTimeout/);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["attempt 2"]);
  },

  "what it does after that is refused, and changes nothing": async (given) => {
    const late = Promise.withResolvers<void>();
    const errors: Promise<string>[] = [];
    const outbox = given.outbox([
      onOrder("hangs", async (_, ctx) => {
        const tx = await ctx.transaction();
        await late.promise;
        const tried = [
          async () => await given.note(tx.client, "late"),
          () => fire(ctx, StockReserved({ orderId: 1 })),
          () => fire(tx, StockReserved({ orderId: 2 })),
        ];
        for (const attempt of tried) errors.push(attempt().then(() => "done", (error) => String(error)));
      }, { ...timeout, maxAttempts: 1 }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    late.resolve();
    await waitFor(() => errors.length === 3, { what: "the late work" });
    for (const error of await Promise.all(errors)) assert.match(error, /Cannot (use|fire)/);
    assert.deepEqual(await given.notes(), []);
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(await given.outcomes(), ["hangs dead 1"]);
  },

  "null lifts the setting": async (given) => {
    const outbox = given.outbox([
      onOrder("slow", () => waitFor(() => performance.now() > end, { what: "the time to pass" }), { timeout: null }),
    ], { settings: { timeout: { milliseconds: 30 } } });
    const end = performance.now() + 150;
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "the setting holds where the receiver says nothing": async (given) => {
    const outbox = given.outbox([onOrder("hangs", forEver)], { settings: { timeout: { milliseconds: 40 } } });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.match((await given.row()).lastError!, /timeout of 40 ms/);
  },

  "a receiver that rejects once it has timed out is no unhandled rejection": async (given) => {
    const outbox = given.outbox([
      onOrder("hangs", async (_, { signal }) => {
        await waitFor(() => signal.aborted, { what: "the timeout" });
        throw new Error("too late to matter");
      }, timeout),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.match((await given.row()).lastError!, /^ReceiverTimeout/);
  },

  "of several at once each has its own": async (given) => {
    const outbox = given.outbox([
      onOrder("a", forEver, { timeout: { milliseconds: 60 } }),
      onOrder("b", forEver, { timeout: { milliseconds: 30 } }),
      onOrder("c", () => {}, { timeout: { milliseconds: 500 } }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { concurrency: 3 }), { failed: 2, succeeded: 1 });
    assert.match((await given.row("a")).lastError!, /60 ms/);
    assert.match((await given.row("b")).lastError!, /30 ms/);
  },
};
