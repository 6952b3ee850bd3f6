import assert from "node:assert/strict";
import type { HealthRecord, ReceiverHealthRecord } from "../../../src/storage/records.ts";
import type { Cases, Given } from "./given.ts";
import { dead, orphaned, range, retryIn, succeeded } from "./samples.ts";

const nothing = { owed: 0, scheduled: 0, claimed: 0, lapsed: 0, dead: 0, orphaned: 0, oldestOwedSince: null };

async function totals(given: Given, now = given.now): Promise<Omit<HealthRecord, "receivers">> {
  const { receivers: _, ...rest } = await given.storage.health(now);
  return rest;
}

export const healthCases: Cases = {
  "an empty database owes nothing": async (given) => {
    assert.deepEqual(await given.storage.health(given.now), { ...nothing, receivers: [] });
  },

  "a pending row is owed": async (given) => {
    await given.fire();
    assert.deepEqual(await totals(given), { ...nothing, owed: 1, oldestOwedSince: given.now });
  },

  "a failed row is owed, during its backoff too": async (given) => {
    await given.settled(await given.held(), retryIn(3_600_000));
    assert.deepEqual(await totals(given), { ...nothing, owed: 1, oldestOwedSince: given.now });
  },

  "a claimed row is owed and claimed": async (given) => {
    await given.held();
    assert.deepEqual(await totals(given), { ...nothing, owed: 1, claimed: 1, oldestOwedSince: given.now });
  },

  "a row whose lease has lapsed is owed and lapsed": async (given) => {
    await given.held({ leaseMs: 1_000 });
    const now = given.later(1_000);
    assert.deepEqual(await totals(given, now), { ...nothing, owed: 1, lapsed: 1, oldestOwedSince: given.now });
  },

  "a scheduled row is scheduled until it is due": async (given) => {
    await given.fire({ dueAt: given.later(1_000) });
    const before = await totals(given, given.later(999));
    assert.deepEqual([before.owed, before.scheduled], [0, 1]);
    const { owed, scheduled } = await totals(given, given.later(1_000));
    assert.deepEqual([owed, scheduled], [1, 0]);
  },

  "a dead row is dead and not owed": async (given) => {
    await given.settled(await given.held(), dead());
    assert.deepEqual(await totals(given), { ...nothing, dead: 1 });
  },

  "an orphaned row is orphaned and not owed": async (given) => {
    await given.settled(await given.held(), orphaned);
    assert.deepEqual(await totals(given), { ...nothing, orphaned: 1 });
  },

  "a succeeded row is nothing": async (given) => {
    await given.settled(await given.held(), succeeded);
    assert.deepEqual(await given.storage.health(given.now), { ...nothing, receivers: [] });
  },

  "every row is counted once": async (given) => {
    for (const settlement of [dead(), orphaned, succeeded, retryIn(3_600_000)]) {
      await given.settled(await given.held(), settlement);
    }
    await given.held({ leaseMs: 1 });
    await given.fire({ dueAt: given.later(3_600_000) });
    await given.fireMany(2);
    await given.claimOne({ limit: 1 });
    const counts = await totals(given, given.later(1_000));
    assert.deepEqual(counts, {
      owed: 4, // failed, lapsed, claimed, pending
      scheduled: 1,
      claimed: 1,
      lapsed: 1,
      dead: 1,
      orphaned: 1,
      oldestOwedSince: given.now,
    });
  },

  "the oldest is the one that became owed first": async (given) => {
    await given.fire({ at: given.later(-1_000) });
    await given.fire({ at: given.later(-3_000) });
    await given.fire({ at: given.later(-2_000) });
    assert.equal((await totals(given)).oldestOwedSince, given.later(-3_000));
  },

  "a scheduled row became owed when it was due": async (given) => {
    await given.fire({ dueAt: given.later(1_000) });
    assert.equal((await totals(given)).oldestOwedSince, null);
    assert.equal((await totals(given, given.later(5_000))).oldestOwedSince, given.later(1_000));
  },

  "failing makes a row no younger": async (given) => {
    await given.settled(await given.held(), retryIn(3_600_000), given.later(1_000));
    assert.equal((await totals(given, given.later(2_000))).oldestOwedSince, given.now);
  },

  "the oldest is not one that ended": async (given) => {
    await given.fire({ at: given.later(-5_000) });
    await given.settled(await given.claimOne(), dead());
    await given.fire();
    assert.equal((await totals(given)).oldestOwedSince, given.now);
  },

  "each receiver has its own counts, most owed first": async (given) => {
    await given.fireMany(1, "one");
    await given.fireMany(3, "three");
    await given.fireMany(2, "two");
    await given.settled(await given.claimOne({ receivers: ["two"], limit: 1 }), dead());
    await given.fireMany(1, "two");
    await given.claimOne({ receivers: ["three"], limit: 1 });
    const { receivers } = await given.storage.health(given.now);
    const owed = { ...nothing, oldestOwedSince: given.now };
    const expected: ReceiverHealthRecord[] = [
      { ...owed, key: "three", owed: 3, claimed: 1 },
      { ...owed, key: "two", owed: 2, dead: 1 },
      { ...owed, key: "one", owed: 1 },
    ];
    assert.deepEqual(receivers, expected);
  },

  "as much owed: most dead first, then by key": async (given) => {
    for (const key of ["c", "a", "b"]) await given.fireMany(1, key);
    await given.fireMany(1, "b");
    await given.settled(await given.claimOne({ receivers: ["b"], limit: 1 }), dead());
    const { receivers } = await given.storage.health(given.now);
    assert.deepEqual(receivers.map(({ key }) => key), ["b", "a", "c"]);
  },

  "a receiver with nothing but dead rows is named": async (given) => {
    await given.settled(await given.held(), dead());
    const { receivers } = await given.storage.health(given.now);
    assert.deepEqual(receivers, [{ ...nothing, key: "stock.reserve", dead: 1 }]);
  },

  "the receivers add up to the whole": async (given) => {
    for (const n of range(4)) await given.fireMany(n + 1, `receiver-${n}`);
    await given.claim({ receivers: ["receiver-2", "receiver-3"], limit: 5 });
    const { receivers, ...whole } = await given.storage.health(given.now);
    const sum = (count: "owed" | "claimed" | "lapsed") => receivers.reduce((total, each) => total + each[count], 0);
    assert.deepEqual([sum("owed"), sum("claimed"), sum("lapsed")], [whole.owed, whole.claimed, whole.lapsed]);
    assert.deepEqual([whole.owed, whole.claimed], [10, 5]);
  },

  "without a moment the database's clock decides": async (given) => {
    await given.fire({ dueAt: given.later(-60_000), at: given.later(-120_000) });
    await given.fire({ dueAt: given.later(60_000) });
    const { owed, scheduled } = await given.storage.health();
    assert.deepEqual([owed, scheduled], [1, 1]);
  },
};
