import assert from "node:assert/strict";
import { deliverPending, fire } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, later } from "./given.ts";
import { failing, onOrder, order, StockReserved } from "./samples.ts";

const eager = { eager: true } as const;

export const eagerCases: Cases = {
  "it is attempted right after the commit; the others are left to the relay": async (given) => {
    const seen: number[] = [];
    const outbox = given.outbox([
      onOrder("notify", async () => seen.push((await given.events()).length), eager),
      onOrder("stock"),
    ]);
    await outbox.transaction(async (tx) => {
      await fire(tx, order());
      assert.deepEqual(seen, []);
    });
    assert.deepEqual(seen, [1]);
    assert.deepEqual(await given.outcomes(), ["notify succeeded 1", "stock pending 0"]);
  },

  "one that fails is owed to the relay like any other": async (given) => {
    let attempts = 0;
    const outbox = given.outbox([
      onOrder("notify", () => {
        if (++attempts === 1) throw new Error("no luck");
      }, eager),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await given.outcomes(), ["notify failed 1"]);
    assert.equal((await given.row()).lastError, "Error: no luck");
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["notify succeeded 2"]);
  },

  "its last attempt can be the eager one": async (given) => {
    await given.fire(given.outbox([failing("notify", { ...eager, maxAttempts: 1 })]), order());
    assert.deepEqual(await given.outcomes(), ["notify dead 1"]);
  },

  "it works in its own transaction": async (given) => {
    const outbox = given.outbox([
      onOrder("notify", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
        await fire(ctx, StockReserved({ orderId: 1 }));
      }, eager),
    ], { events: [StockReserved] });
    const [parent] = await given.fire(outbox, order());
    assert.deepEqual(await given.notes(), ["work"]);
    assert.equal((await given.events()).at(-1)?.causationId, parent);
  },

  "a claim that fails leaves it to the relay, and the commit stands": async (given) => {
    const storage = given.changed({ claimOnly: () => Promise.reject(new Error("secret")) });
    await given.fire(given.outbox([onOrder("notify", () => {}, eager)], { storage }), order());
    assert.deepEqual(await given.outcomes(), ["notify pending 0"]);
    assert.match(given.logs.lines("warning").join(), /could not claim eager deliveries/);
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "a process that dies after its claim leaves it to the relay, once the lease has lapsed": async (given) => {
    const storage = given.changed({
      claimOnly: async (...asked) => {
        await given.storage.claimOnly(...asked);
        throw new Error("it died");
      },
    });
    await given.fire(given.outbox([onOrder("notify", () => assert.fail("it ran"), eager)], { storage }), order());
    assert.deepEqual(await given.outcomes(), ["notify claimed 0"]);
    const relay = given.outbox([onOrder("notify")]);
    assert.deepEqual(await deliverPending(relay), {});
    assert.deepEqual(await deliverPending(relay, { now: later({ minutes: 10 }) }), { succeeded: 1 });
  },

  "its rows are claimed before the relays are woken": async (given) => {
    const taken: Promise<string[]>[] = [];
    const storage = given.changed({ wake: () => Promise.resolve(void taken.push(given.outcomes())) });
    const gate = Promise.withResolvers<void>();
    const outbox = given.outbox([onOrder("notify", () => gate.promise, eager)], {
      storage,
      settings: { afterCommit: "background" },
    });
    await given.fire(outbox, order());
    await waitFor(() => taken.length > 0, { what: "the wake" });
    const [outcomes] = await Promise.all(taken);
    gate.resolve();
    await waitFor(async () => (await given.row()).status === "succeeded", { what: "the eager attempt" });
    assert.deepEqual(outcomes, ["notify claimed 0"]);
  },
};
