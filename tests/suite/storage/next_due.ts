import assert from "node:assert/strict";
import type { Cases } from "./given.ts";
import { dead, postponed, released, retryIn, succeeded } from "./samples.ts";

const receivers = ["stock.reserve"];

export const nextDueCases: Cases = {
  "null when there is nothing": async (given) => {
    assert.equal(await given.storage.nextDue(receivers, given.now), null);
    assert.equal(await given.storage.nextDue([], given.now), null);
  },

  "0 when something is due": async (given) => {
    await given.fire();
    assert.equal(await given.storage.nextDue(receivers, given.now), 0);
    assert.equal(await given.storage.nextDue(receivers, given.later(60_000)), 0);
  },

  "the time until a scheduled row": async (given) => {
    await given.fire({ dueAt: given.later(1_500) });
    assert.equal(await given.storage.nextDue(receivers, given.now), 1_500);
  },

  "the time until a retry": async (given) => {
    await given.settled(await given.held(), retryIn(2_500));
    assert.equal(await given.storage.nextDue(receivers, given.now), 2_500);
  },

  "the time until a postponed row": async (given) => {
    await given.settled(await given.held(), postponed(2_500));
    assert.equal(await given.storage.nextDue(receivers, given.now), 2_500);
  },

  "the time until a lease lapses": async (given) => {
    await given.held({ leaseMs: 3_500 });
    assert.equal(await given.storage.nextDue(receivers, given.now), 3_500);
    assert.equal(await given.storage.nextDue(receivers, given.later(3_500)), 0);
  },

  "0 when a row was handed back": async (given) => {
    await given.settled(await given.held(), released);
    assert.equal(await given.storage.nextDue(receivers, given.now), 0);
  },

  "never so short that the row is not due yet": async (given) => {
    await given.fire({ dueAt: given.later(1_000.4) });
    const ms = await given.storage.nextDue(receivers, given.now);
    assert.ok(ms! >= 1_000.4 && ms! <= 1_001.4, `${ms}`);
    await given.claimOne({ now: given.later(ms!) });
  },

  "the nearest of several": async (given) => {
    await given.fire({ dueAt: given.later(3_000) });
    await given.fire({ dueAt: given.later(1_000) });
    await given.fire({ dueAt: given.later(2_000) });
    assert.equal(await given.storage.nextDue(receivers, given.now), 1_000);
  },

  "a lease before a later row": async (given) => {
    await given.held({ leaseMs: 1_000 });
    await given.fire({ dueAt: given.later(2_000) });
    assert.equal(await given.storage.nextDue(receivers, given.now), 1_000);
  },

  "a later row before a lease": async (given) => {
    await given.held({ leaseMs: 2_000 });
    await given.fire({ dueAt: given.later(1_000) });
    assert.equal(await given.storage.nextDue(receivers, given.now), 1_000);
  },

  "a row that is due behind leased ones": async (given) => {
    await given.fireMany(5);
    await given.claim({ limit: 4 });
    assert.equal(await given.storage.nextDue(receivers, given.now), 0);
  },

  "only the named receivers count": async (given) => {
    await given.fire({ receivers: ["a"] });
    await given.fire({ receivers: ["b"], dueAt: given.later(1_000) });
    assert.equal(await given.storage.nextDue(["b"], given.now), 1_000);
    assert.equal(await given.storage.nextDue(["c", "b"], given.now), 1_000);
    assert.equal(await given.storage.nextDue(["b", "a"], given.now), 0);
  },

  "settled rows do not count": async (given) => {
    await given.settled(await given.held(), succeeded);
    await given.settled(await given.held(), dead());
    assert.equal(await given.storage.nextDue(receivers, given.now), null);
  },

  "without a moment the database's clock decides": async (given) => {
    await given.fire({ dueAt: given.later(3_600_000) });
    const ms = await given.storage.nextDue(receivers);
    assert.ok(ms! > 3_540_000 && ms! < 3_660_000, `${ms}`);
  },
};
