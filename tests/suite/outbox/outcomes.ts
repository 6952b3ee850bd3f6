import assert from "node:assert/strict";
import { deliverPending, event, type Outbox, receiver } from "../../../mod.ts";
import { type Cases, type Given, later, upTo } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

/** How long the rows wait from this moment on, with what `Math.random` gives fixed. */
async function waits(given: Given, outbox: Outbox, random: number, now: Date): Promise<number[]> {
  const original = Math.random;
  Math.random = () => random;
  try {
    await deliverPending(outbox, { now });
  } finally {
    Math.random = original;
  }
  return (await given.rows()).map(({ availableAt }) => Number(availableAt / 1000n) - now.getTime());
}

export const outcomeCases: Cases = {
  "what succeeds is paid once": async (given) => {
    let runs = 0;
    const outbox = given.outbox([onOrder("stock", () => runs++)]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), {});
    assert.equal(runs, 1);
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1"]);
  },

  "what fails is owed again, with its error": async (given) => {
    const outbox = given.outbox([failing("mail", {}, new RangeError("mailbox full"))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.outcomes(), ["mail failed 1"]);
    assert.equal((await given.row()).lastError, "RangeError: mailbox full");
  },

  "an async receiver fails as a synchronous one does": async (given) => {
    const outbox = given.outbox([onOrder("mail", () => Promise.reject(new Error("later")))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.equal((await given.row()).lastError, "Error: later");
  },

  "one that fails neither replays, blocks nor hides its siblings": async (given) => {
    const runs: string[] = [];
    const outbox = given.outbox([
      onOrder("a", () => runs.push("a")),
      failing("b", { maxAttempts: 2 }),
      onOrder("c", () => runs.push("c")),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await given.outcomes(), ["a succeeded 1", "b failed 1", "c succeeded 1"]);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    assert.deepEqual(await given.outcomes(), ["a succeeded 1", "b dead 2", "c succeeded 1"]);
    assert.deepEqual(runs, ["a", "c"]);
  },

  "out of attempts it is dead, and is not run again": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("mail", () => {
        throw new Error(`attempt ${++runs}`);
      }, { maxAttempts: 3 }),
    ]);
    await given.fire(outbox, order());
    const counts = [];
    for (const n of upTo(5)) counts.push(await deliverPending(outbox, { now: later({ hours: 2 * n }) }));
    assert.deepEqual(counts, [{ failed: 1 }, { failed: 1 }, { dead: 1 }, {}, {}]);
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError], ["dead", 3, "Error: attempt 3"]);
    assert.notEqual(row.completedAt, null);
  },

  "the budget is frozen at fire": async (given) => {
    await given.fire(given.outbox([failing("mail", { maxAttempts: 2 })]), order());
    const lowered = given.outbox([failing("mail", { maxAttempts: 1 })]);
    assert.deepEqual(await deliverPending(lowered), { failed: 1 });
    assert.deepEqual(await deliverPending(lowered, { now: later({ hours: 2 }) }), { dead: 1 });
  },

  "pitfall 73: a wait is drawn from the whole window below its ceiling, which doubles up to the cap": async (given) => {
    const options = { maxAttempts: 9, backoff: { base: { seconds: 10 }, cap: { seconds: 60 } } };
    const outbox = given.outbox([failing("mail", options)]);
    await given.fire(outbox, order());
    const seen: number[] = [];
    for (const [i, random] of [0.5, 0.5, 0.5, 0.5, 0.999, 0].entries()) {
      seen.push(...await waits(given, outbox, random, later({ hours: i + 1 })));
    }
    assert.deepEqual(seen, [5000, 10_000, 20_000, 30_000, 59_940, 0]);
  },

  "each part of the curve can be the receiver's own, the other is the setting's": async (given) => {
    const outbox = given.outbox([
      failing("base", { backoff: { base: { seconds: 4 } } }),
      failing("cap", { backoff: { cap: { seconds: 3 } } }),
      failing("neither"),
    ], { settings: { backoff: { base: { seconds: 20 }, cap: { seconds: 20 } } } });
    await given.fire(outbox, order());
    assert.deepEqual(await waits(given, outbox, 0.5, later({ minutes: 1 })), [2000, 1500, 10_000]);
  },

  "a base of the receiver's above the setting's cap is the ceiling": async (given) => {
    const outbox = given.outbox([failing("mail", { backoff: { base: { hours: 2 } } })], {
      settings: { backoff: { cap: { seconds: 5 } } },
    });
    await given.fire(outbox, order());
    assert.deepEqual(await waits(given, outbox, 0.5, later({ minutes: 1 })), [3_600_000]);
  },

  "the curve is read when an attempt fails": async (given) => {
    await given.fire(given.outbox([failing("mail", { backoff: { base: { seconds: 2 } } })]), order());
    const deployed = given.outbox([failing("mail", { backoff: { base: { seconds: 200 } } })]);
    assert.deepEqual(await waits(given, deployed, 0.5, later({ minutes: 1 })), [100_000]);
  },

  "pitfall 71: a real claim takes a failed row once its wait is over, and not before": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("mail", () => {
        if (++runs === 1) throw new Error("no luck");
      }, { backoff: { base: { minutes: 1 }, cap: { minutes: 1 } } }),
    ]);
    await given.fire(outbox, order());
    const at = later({ minutes: 1 });
    const [wait] = await waits(given, outbox, 0.5, at);
    assert.equal(wait, 30_000);
    const after = (ms: number) => ({ now: new Date(at.getTime() + ms) });
    assert.deepEqual(await deliverPending(outbox, after(29_999)), {});
    assert.deepEqual(await deliverPending(outbox, after(30_000)), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["mail succeeded 2"]);
  },

  "a serialization failure or a deadlock is tried again soon, and counted": async (given) => {
    const conflict = (code: string) => Object.assign(new Error("conflict"), { code });
    const options = { backoff: { base: { hours: 1 }, cap: { hours: 1 } } };
    const outbox = given.outbox([
      failing("a", options, conflict("40001")),
      failing("b", options, conflict("40P01")),
      failing("c", options, conflict("23505")),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await waits(given, outbox, 0.5, later({ minutes: 1 })), [275, 275, 1_800_000]);
    assert.deepEqual(await given.outcomes(), ["a failed 1", "b failed 1", "c failed 1"]);
  },

  "pitfall 2: the same names declared elsewhere are the same event and receiver": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order(7));
    const Moved = event<{ orderId: number }>("orders.placed");
    const seen: unknown[] = [];
    const moved = given.outbox([receiver(Moved, "stock", (order) => seen.push(order))]);
    assert.deepEqual(await deliverPending(moved), { succeeded: 1 });
    assert.deepEqual(seen, [{ orderId: 7 }]);
  },

  "pitfall 94: a receiver that gives up on an abort of its own has failed, and its name is in the error": async (
    given,
  ) => {
    const outbox = given.outbox([onOrder("mail", () => AbortSignal.abort().throwIfAborted())]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.match((await given.row()).lastError!, /^Receiver "mail" was aborted before it finished: AbortError/);
  },
};
