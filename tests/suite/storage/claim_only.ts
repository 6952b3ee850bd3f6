import assert from "node:assert/strict";
import type { Instant } from "../../../src/instant.ts";
import type { ClaimOnlyRequest, StorageTransaction } from "../../../src/storage/storage.ts";
import { type Cases, type Given, idsOf } from "./given.ts";
import { aDebt, anEvent, dead, released, retryIn, succeeded } from "./samples.ts";

interface Options {
  receivers?: string[];
  now?: Instant;
  within?: StorageTransaction;
}

function claimOnly(given: Given, only: ClaimOnlyRequest["only"], options: Options = {}) {
  const { receivers = ["stock.reserve"], now = given.now, within } = options;
  const request = { worker: "worker-a", receivers: receivers.map((key) => ({ key, leaseMs: 60_000 })), only, now };
  return given.storage.claimOnly(request, within);
}

export const claimOnlyCases: Cases = {
  "takes the rows of an event and no others": async (given) => {
    await given.fire();
    const event = await given.fire({ receivers: ["a", "b"] });
    const claimed = await claimOnly(given, { eventIds: [event.id] }, { receivers: ["a", "b", "stock.reserve"] });
    assert.deepEqual(claimed.map((each) => [each.event.id, each.receiverKey]), [[event.id, "a"], [event.id, "b"]]);
  },

  "takes a delivery by its id, wherever it stands in the queue": async (given) => {
    await given.fireMany(3);
    const [, , third] = await given.rows();
    assert.deepEqual(idsOf(await claimOnly(given, { deliveryIds: [third!.id] })), [third!.id]);
  },

  "gives all that a claim gives": async (given) => {
    await given.fire({ payload: '{"n":1}', key: "order-1" });
    const { id } = await given.row();
    const [claimed] = await claimOnly(given, { deliveryIds: [id] });
    await given.settled(claimed!, released);
    const byQueue = await given.claimOne();
    assert.deepEqual({ ...claimed, fence: byQueue.fence }, byQueue);
    assert.equal(claimed!.fence.claimedBy, "worker-a");
  },

  "leases what it takes": async (given) => {
    const event = await given.fire();
    await claimOnly(given, { eventIds: [event.id] });
    const row = await given.row();
    assert.deepEqual([row.status, row.leasedUntil], ["claimed", given.later(60_000)]);
  },

  "takes rows of the named receivers alone": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"] });
    const claimed = await claimOnly(given, { eventIds: [event.id] }, { receivers: ["b"] });
    assert.deepEqual(claimed.map((each) => each.receiverKey), ["b"]);
    const ids = (await given.rows()).map((row) => row.id);
    assert.deepEqual(await claimOnly(given, { deliveryIds: ids }, { receivers: ["c"] }), []);
  },

  "nothing named takes nothing": async (given) => {
    const event = await given.fire();
    assert.deepEqual(await claimOnly(given, { eventIds: [] }), []);
    assert.deepEqual(await claimOnly(given, { deliveryIds: [] }), []);
    assert.deepEqual(await claimOnly(given, { eventIds: [event.id] }, { receivers: [] }), []);
  },

  "what is not there takes nothing": async (given) => {
    await given.fire();
    assert.deepEqual(await claimOnly(given, { eventIds: [anEvent().id] }), []);
    const deliveryIds = ["9007199254740993", "99999999999999999999", "9999999999999999999", "an id", "", "-1"];
    assert.deepEqual(await claimOnly(given, { deliveryIds }), []);
  },

  "by event a row is not taken before it is due": async (given) => {
    const event = await given.fire({ dueAt: given.later(1_000) });
    assert.deepEqual(await claimOnly(given, { eventIds: [event.id] }), []);
    assert.equal((await claimOnly(given, { eventIds: [event.id] }, { now: given.later(1_000) })).length, 1);
  },

  "by its id a pending row is taken before it is due": async (given) => {
    await given.fire({ dueAt: given.later(1_000) });
    const { id } = await given.row();
    assert.deepEqual(idsOf(await claimOnly(given, { deliveryIds: [id] })), [id]);
  },

  "by its id a failed row is not taken before it is due": async (given) => {
    const held = await given.held();
    await given.settled(held, retryIn(1_000));
    const only = { deliveryIds: [held.fence.id] };
    assert.deepEqual(await claimOnly(given, only), []);
    assert.equal((await claimOnly(given, only, { now: given.later(1_000) })).length, 1);
  },

  "a live lease is left alone": async (given) => {
    const held = await given.held();
    const before = await given.row();
    assert.deepEqual(await claimOnly(given, { deliveryIds: [held.fence.id] }), []);
    assert.deepEqual(await claimOnly(given, { eventIds: [held.event.id] }), []);
    assert.deepEqual(await given.row(), before);
  },

  "a lapsed one is taken over, and counts": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    const [claimed] = await claimOnly(given, { deliveryIds: [held.fence.id] }, { now: given.later(1_000) });
    assert.equal(claimed?.lapses, 1);
    assert.ok(claimed.fence.claimedAt > held.fence.claimedAt);
  },

  "settled rows are left alone": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      const held = await given.held();
      await given.settled(held, settlement);
      const before = await given.row(held.fence.id);
      assert.deepEqual(await claimOnly(given, { deliveryIds: [held.fence.id] }), []);
      assert.deepEqual(await claimOnly(given, { eventIds: [held.event.id] }), []);
      assert.deepEqual(await given.row(held.fence.id), before);
    }
  },

  "goes by the moment, then by the id": async (given) => {
    await given.fire({ at: given.later(-1) });
    await given.fire({ at: given.later(-2) });
    await given.fire({ at: given.later(-2) });
    const [first, second, third] = (await given.rows()).map((row) => row.id);
    const claimed = await claimOnly(given, { deliveryIds: [first!, third!, second!] });
    assert.deepEqual(idsOf(claimed), [second, third, first]);
  },

  "many events at once": async (given) => {
    const events = await given.fireMany(1_000);
    const claimed = await claimOnly(given, { eventIds: events.map(({ id }) => id) });
    assert.equal(claimed.length, 1_000);
  },

  "within a transaction it sees what that has written": async (given) => {
    const event = anEvent();
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      assert.equal((await claimOnly(given, { eventIds: [event.id] }, { within: tx })).length, 1);
    });
    assert.equal((await given.row()).status, "claimed");
  },

  "within a transaction that is rolled back it claims nothing": async (given) => {
    const event = await given.fire();
    const before = await given.row();
    await assert.rejects(given.storage.transaction(async (tx) => {
      assert.equal((await claimOnly(given, { eventIds: [event.id] }, { within: tx })).length, 1);
      throw new Error("undo");
    }));
    assert.deepEqual(await given.row(), before);
  },
};
