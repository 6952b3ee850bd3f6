import assert from "node:assert/strict";
import { type Cases, idsOf } from "./given.ts";
import { aDebt, anEvent, dead, retryIn, succeeded } from "./samples.ts";

export const findCases: Cases = {
  "events in the order they were fired": async (given) => {
    for (const name of ["c", "a", "b", "a"]) await given.fire({ name, key: name });
    const events = await given.fireMany(20);
    const found = await given.storage.findEvents({});
    assert.deepEqual(found.slice(0, 4).map(({ name }) => name), ["c", "a", "b", "a"]);
    assert.deepEqual(found.slice(4).map(({ id }) => id), events.map(({ id }) => id));
  },

  "events by name": async (given) => {
    await given.fire({ name: "orders.placed" });
    await given.fire({ name: "orders.paid" });
    await given.fire({ name: "orders.placed.v2" });
    const found = await given.storage.findEvents({ name: "orders.placed" });
    assert.deepEqual(found.map(({ name }) => name), ["orders.placed"]);
  },

  "events by id": async (given) => {
    const [first, , third] = await given.fireMany(3);
    const found = await given.storage.findEvents({ ids: [third!.id, first!.id, anEvent().id] });
    assert.deepEqual(found.map(({ id }) => id), [first!.id, third!.id]);
  },

  "events by name and id": async (given) => {
    const [a, b] = [await given.fire({ name: "a" }), await given.fire({ name: "b" })];
    const found = await given.storage.findEvents({ name: "b", ids: [a.id, b.id] });
    assert.deepEqual(found.map(({ id }) => id), [b.id]);
  },

  "no ids find no event": async (given) => {
    await given.fire();
    assert.deepEqual(await given.storage.findEvents({ ids: [] }), []);
  },

  "events within a transaction": async (given) => {
    const event = anEvent();
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [event], [], given.now);
      assert.equal((await given.storage.findEvents({ ids: [event.id] }, tx)).length, 1);
    });
  },

  "deliveries in the order of their ids, settled ones included": async (given) => {
    await given.database.nextDeliveryId(97n);
    await given.fireMany(6);
    const claimed = await given.claim();
    await given.settled(claimed[1]!, succeeded);
    await given.settled(claimed[3]!, dead());
    await given.settled(claimed[4]!, succeeded);
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.id), ["97", "98", "99", "100", "101", "102"]);
    assert.deepEqual(rows.map((row) => row.status), [
      "claimed",
      "succeeded",
      "claimed",
      "dead",
      "succeeded",
      "claimed",
    ]);
  },

  "deliveries by event": async (given) => {
    await given.fire();
    const event = await given.fire({ receivers: ["a", "b"] });
    await given.settled(await given.claimOne({ receivers: ["a"] }), succeeded);
    const found = await given.storage.findDeliveries({ eventId: event.id }, given.now);
    assert.deepEqual(found.map((row) => [row.receiverKey, row.status]), [["a", "succeeded"], ["b", "pending"]]);
  },

  "deliveries by receiver": async (given) => {
    await given.fire({ receivers: ["a", "b"] });
    await given.fire({ receivers: ["a"] });
    await given.settled(await given.claimOne({ receivers: ["a"], limit: 1 }), succeeded);
    const found = await given.storage.findDeliveries({ receiverKey: "a" }, given.now);
    assert.deepEqual(found.map((row) => [row.receiverKey, row.status]), [["a", "succeeded"], ["a", "pending"]]);
  },

  "a delivery by id, owed or settled": async (given) => {
    await given.fireMany(3);
    const claimed = await given.claim();
    await given.settled(claimed[1]!, succeeded);
    for (const id of idsOf(claimed)) {
      const found = await given.storage.findDeliveries({ deliveryId: id }, given.now);
      assert.deepEqual(found.map((row) => row.id), [id]);
    }
  },

  "deliveries by event and receiver": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"] });
    await given.fire({ receivers: ["a", "b"] });
    const found = await given.storage.findDeliveries({ eventId: event.id, receiverKey: "b" }, given.now);
    assert.deepEqual(found.map((row) => [row.eventId, row.receiverKey]), [[event.id, "b"]]);
  },

  "what is not there is not found": async (given) => {
    await given.fire();
    for (const deliveryId of ["9007199254740993", "99999999999999999999", "9999999999999999999", "an id", "", "-1"]) {
      assert.deepEqual(await given.storage.findDeliveries({ deliveryId }), [], deliveryId);
    }
    assert.deepEqual(await given.storage.findDeliveries({ eventId: anEvent().id }), []);
    assert.deepEqual(await given.storage.findEvents({ name: "nothing" }), []);
  },

  "claimed is shown while the lease lives": async (given) => {
    await given.held({ leaseMs: 1_000 });
    const status = async (ms: number) => (await given.row(undefined, given.later(ms))).status;
    assert.deepEqual([await status(0), await status(999.999), await status(1_000)], ["claimed", "claimed", "pending"]);
  },

  "a failed row that lapsed is shown as failed": async (given) => {
    await given.settled(await given.held(), retryIn(0));
    await given.claimOne({ leaseMs: 1_000 });
    const statuses = [(await given.row()).status, (await given.row(undefined, given.later(1_000))).status];
    assert.deepEqual(statuses, ["claimed", "failed"]);
  },

  "a settled row keeps who paid it": async (given) => {
    const held = await given.held({ worker: "worker-b" });
    await given.settled(held, succeeded, given.later(5));
    const row = await given.row();
    assert.deepEqual([row.claimedBy, row.claimedAt], ["worker-b", held.fence.claimedAt]);
    assert.deepEqual([row.id, row.eventId, row.maxAttempts], [held.fence.id, held.event.id, held.maxAttempts]);
  },

  "a settled row keeps what it was": async (given) => {
    const dueAt = given.later(-1);
    await given.fire({ target: "a", dueAt, maxAttempts: 9, at: given.later(-10) });
    await given.claimOne({ leaseMs: 1 });
    const claimed = await given.claimOne({ now: given.later(10) });
    const before = await given.row(undefined, given.later(10));
    await given.settled(claimed, succeeded, given.later(20));
    const { status, attempts, completedAt, leasedUntil: _, ...row } = await given.row();
    const { status: _s, attempts: _a, completedAt: _c, leasedUntil: _l, ...expected } = before;
    assert.deepEqual(row, expected);
    assert.deepEqual([status, attempts, completedAt], ["succeeded", 1, given.later(20)]);
  },

  "deliveries within a transaction": async (given) => {
    const event = anEvent();
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      assert.equal((await given.storage.findDeliveries({ eventId: event.id }, given.now, tx)).length, 1);
    });
  },
};
