import assert from "node:assert/strict";
import { type Cases, idsOf } from "./given.ts";
import { aDebt, after, anEvent, dead, range, released, retryIn, succeeded } from "./samples.ts";

export const claimCases: Cases = {
  "gives the row, its event and a fence": async (given) => {
    const dueAt = given.later(-1_000.001);
    await given.fire({
      payload: '{"n":1}',
      key: "order-1",
      target: "a",
      maxAttempts: 7,
      dueAt,
      at: given.later(-5000),
    });
    const { fence, event, ...claimed } = await given.claimOne();
    assert.deepEqual(claimed, {
      receiverKey: "stock.reserve",
      target: "a",
      attempts: 0,
      maxAttempts: 7,
      lapses: 0,
      availableAt: dueAt,
      dueAt,
      owedSince: given.later(-5000),
      claimedNow: given.now,
    });
    const row = await given.row();
    assert.deepEqual(fence, { id: row.id, claimedBy: "worker-a", claimedAt: row.claimedAt });
    assert.deepEqual([event], await given.storage.findEvents({}));
  },

  "leases the row and changes nothing else": async (given) => {
    await given.fire();
    const before = await given.row();
    const { fence } = await given.claimOne({ leaseMs: 1_500 });
    assert.deepEqual(await given.row(), {
      ...before,
      status: "claimed",
      claimedBy: "worker-a",
      claimedAt: fence.claimedAt,
      leasedUntil: given.later(1_500),
    });
  },

  "takes a row at the moment it is due and not before": async (given) => {
    await given.fire({ at: given.later(10) });
    assert.deepEqual(await given.claim({ now: given.later(9.999) }), []);
    await given.claimOne({ now: given.later(10) });
  },

  "without a moment the database's clock decides": async (given) => {
    await given.fire({ at: given.later(-60_000) });
    await given.fire({ at: given.later(60_000) });
    const [claimed, ...others] = await given.storage.claim({
      worker: "worker-a",
      receivers: [{ key: "stock.reserve", leaseMs: 30_000 }],
      limit: 10,
    });
    assert.deepEqual(others, []);
    const { claimedNow, fence } = claimed!;
    assert.ok(claimedNow > given.later(-60_000) && claimedNow < given.later(60_000), `${claimedNow}`);
    const row = await given.row(fence.id);
    assert.equal(row.leasedUntil, after(claimedNow, 30_000));
  },

  "goes by the moment, then by the id, across receivers": async (given) => {
    const [a, b, c] = ["a", "b", "c"];
    await given.fire({ receivers: [c], at: given.later(-10) }); // 1
    await given.fire({ receivers: [a], at: given.later(-30) }); // 2
    await given.fire({ receivers: [b], at: given.later(-20) }); // 3
    await given.fire({ receivers: [a], at: given.later(-20) }); // 4
    await given.fire({ receivers: [c], at: given.later(-30) }); // 5
    const ids = (await given.rows()).map((row) => row.id);
    const claimed = await given.claim({ receivers: [a, b, c] });
    assert.deepEqual(idsOf(claimed), [ids[1], ids[4], ids[2], ids[3], ids[0]]);
  },

  "ids are ordered as numbers": async (given) => {
    await given.database.nextDeliveryId(8n);
    await given.fireMany(4);
    assert.deepEqual(idsOf(await given.claim()), ["8", "9", "10", "11"]);
  },

  "a limit takes the first ones": async (given) => {
    await given.fireMany(5);
    const ids = (await given.rows()).map((row) => row.id);
    assert.deepEqual(idsOf(await given.claim({ limit: 2 })), ids.slice(0, 2));
    assert.deepEqual(idsOf(await given.claim({ limit: 2 })), ids.slice(2, 4));
  },

  "a limit is for all receivers together": async (given) => {
    for (const n of range(6)) await given.fire({ receivers: [n % 2 ? "a" : "b"], at: given.later(n - 100) });
    const ids = (await given.rows()).map((row) => row.id);
    assert.deepEqual(idsOf(await given.claim({ receivers: ["a", "b"], limit: 3 })), ids.slice(0, 3));
  },

  "a limit takes from whichever receiver is first": async (given) => {
    await given.fireMany(5, "a");
    await given.fire({ receivers: ["b"], at: given.later(-1) });
    await given.fireMany(5, "b");
    const claimed = await given.claim({ receivers: ["a", "b"], limit: 4 });
    assert.deepEqual(claimed.map((each) => each.receiverKey), ["b", "a", "a", "a"]);
  },

  "takes rows of the named receivers alone": async (given) => {
    await given.fire({ receivers: ["a", "b", "A"] });
    const claimed = await given.claim({ receivers: ["a", "nobody"] });
    assert.deepEqual(claimed.map((each) => each.receiverKey), ["a"]);
  },

  "lapsed rows of other receivers are left alone": async (given) => {
    await given.fire({ receivers: ["mail"] });
    await given.claimOne({ receivers: ["mail"], leaseMs: 1 });
    assert.deepEqual(await given.claim({ receivers: ["a", "b"], now: given.later(60_000) }), []);
  },

  "no receivers claim nothing": async (given) => {
    await given.fire();
    assert.deepEqual(await given.claim({ receivers: [] }), []);
  },

  "the order and the limit hold for any number of receivers": async (given) => {
    for (const count of [2, 3, 20, 150]) {
      const receivers = range(count).map((n) => `receiver-${n}`);
      const events = receivers.map(() => anEvent());
      // The last receiver's row is due first.
      const debts = events.map((event, n) =>
        aDebt(event, { receiverKey: receivers[n]!, dueAt: given.later(count - n) })
      );
      await given.storage.transaction((tx) => given.storage.append(tx, events, debts, given.now));
      const limit = Math.ceil(count / 2);
      const claimed = await given.claim({ receivers, limit, now: given.later(1_000) });
      assert.deepEqual(claimed.map((each) => each.receiverKey), receivers.toReversed().slice(0, limit));
      assert.equal((await given.claim({ receivers, limit: 1_000, now: given.later(1_000) })).length, count - limit);
      await given.database.clear();
    }
  },

  "each receiver has its own lease": async (given) => {
    await given.fire({ receivers: ["a", "b"] });
    const receivers = [{ key: "a", leaseMs: 1_000 }, { key: "b", leaseMs: 3_600_000 }];
    await given.storage.claim({ worker: "worker-a", receivers, limit: 10, now: given.now });
    const rows = new Map((await given.rows()).map((row) => [row.receiverKey, row.leasedUntil]));
    assert.deepEqual([rows.get("a"), rows.get("b")], [given.later(1_000), given.later(3_600_000)]);
  },

  "a leased row is not taken": async (given) => {
    await given.held();
    assert.deepEqual(await given.claim({ worker: "worker-b", now: given.later(59_999.999) }), []);
  },

  "a row whose lease has lapsed is taken, and counts a lapse": async (given) => {
    const first = await given.held({ leaseMs: 1_000 });
    const second = await given.claimOne({ worker: "worker-b", now: given.later(1_000) });
    assert.equal(second.fence.id, first.fence.id);
    assert.deepEqual([second.lapses, second.attempts], [1, 0]);
    const third = await given.claimOne({ now: given.later(120_000) });
    assert.equal(third.lapses, 2);
    assert.equal((await given.row()).lapses, 2);
  },

  "a row that was handed back counts no lapse": async (given) => {
    await given.settled(await given.held(), released);
    assert.equal((await given.claimOne({ worker: "worker-b" })).lapses, 0);
  },

  "pitfall 62: a row that was handed back is claimable at the very same moment": async (given) => {
    await given.settled(await given.held(), released);
    await given.claimOne({ worker: "worker-b" });
  },

  "a row that failed counts no lapse": async (given) => {
    await given.settled(await given.held(), retryIn(0));
    assert.equal((await given.claimOne()).lapses, 0);
  },

  "two claims of a row never share a fence, though the clock stands still": async (given) => {
    await given.fire();
    const moments: bigint[] = [];
    for (const _ of range(5)) {
      const claimed = await given.claimOne();
      moments.push(claimed.fence.claimedAt);
      await given.settled(claimed, released);
    }
    assert.deepEqual(moments.toSorted((a, b) => Number(a - b)), moments);
    assert.equal(new Set(moments).size, 5);
  },

  "nor though the clock steps back": async (given) => {
    const first = await given.held({ now: given.later(10_000) });
    await given.settled(first, released);
    const second = await given.claimOne();
    assert.ok(second.fence.claimedAt > first.fence.claimedAt);
    assert.equal((await given.row()).leasedUntil, given.later(60_000));
  },

  "one worker taking over from itself has another fence": async (given) => {
    const first = await given.held({ leaseMs: 0 });
    const second = await given.claimOne();
    assert.ok(second.fence.claimedAt > first.fence.claimedAt);
  },

  "a retry waits behind what was due before it": async (given) => {
    const first = await given.held();
    await given.fireMany(2);
    await given.settled(first, retryIn(1_000));
    const claimed = await given.claim({ now: given.later(2_000) });
    assert.equal(claimed[2]?.fence.id, first.fence.id);
  },

  "settled rows are not taken": async (given) => {
    for (const settlement of [succeeded, { kind: "dead", error: "", counted: true }] as const) {
      await given.settled(await given.held(), settlement);
    }
    assert.deepEqual(await given.claim({ now: given.later(1e9), ignoreBackoff: true }), []);
  },

  "ignoreBackoff takes a failed row early": async (given) => {
    await given.settled(await given.held(), retryIn(3_600_000));
    assert.deepEqual(await given.claim(), []);
    assert.equal((await given.claimOne({ ignoreBackoff: true })).attempts, 1);
  },

  "ignoreBackoff never takes a scheduled row early": async (given) => {
    await given.fire({ dueAt: given.later(1) });
    assert.deepEqual(await given.claim({ ignoreBackoff: true }), []);
    await given.claimOne({ ignoreBackoff: true, now: given.later(1) });
  },

  "ignoreBackoff takes a scheduled row that failed after its moment": async (given) => {
    await given.fire({ dueAt: given.later(1_000) });
    await given.settled(await given.claimOne({ now: given.later(1_000) }), retryIn(3_600_000), given.later(1_000));
    await given.claimOne({ ignoreBackoff: true, now: given.later(1_001) });
  },

  "ignoreBackoff takes no failed row before the moment that it is scheduled for": async (given) => {
    await given.fire({ dueAt: given.later(60_000) });
    const receivers = [{ key: "stock.reserve", leaseMs: 60_000 }];
    const only = { deliveryIds: [(await given.row()).id] };
    const [early] = await given.storage.claimOnly({ worker: "worker-a", receivers, only, now: given.now });
    await given.settled(early!, retryIn(1_000));
    assert.deepEqual(await given.claim({ ignoreBackoff: true, now: given.later(500) }), []);
  },

  "ignoreBackoff takes no row that is postponed before it ever failed": async (given) => {
    await given.settled(await given.held(), { kind: "postponed", delayMs: 1_000 });
    assert.deepEqual(await given.claim({ ignoreBackoff: true }), []);
  },

  "ignoreBackoff leaves live leases alone": async (given) => {
    await given.settled(await given.held(), retryIn(3_600_000));
    await given.claimOne({ ignoreBackoff: true });
    assert.deepEqual(await given.claim({ ignoreBackoff: true, worker: "worker-b" }), []);
  },

  "ignoreBackoff keeps the order and the limit": async (given) => {
    await given.fireMany(3);
    const claimed = await given.claim();
    for (const [i, each] of claimed.entries()) await given.settled(each, retryIn(10_000 - i * 1_000));
    const taken = await given.claim({ ignoreBackoff: true, limit: 2 });
    assert.deepEqual(idsOf(taken), idsOf(claimed).toReversed().slice(0, 2));
  },

  "dueForMs takes only what has been due that long": async (given) => {
    await given.fire();
    assert.deepEqual(await given.claim({ dueForMs: 900_000, now: given.later(899_999.999) }), []);
    await given.claimOne({ dueForMs: 900_000, now: given.later(900_000) });
  },

  "a position leaves out what is before it and keeps what is at it": async (given) => {
    await given.fireMany(3);
    const [, second, third] = await given.rows();
    const from = { availableAt: second!.availableAt, id: second!.id };
    const receivers = [{ key: "stock.reserve", leaseMs: 60_000, from }];
    const claimed = await given.storage.claim({ worker: "worker-a", receivers, limit: 10, now: given.now });
    assert.deepEqual(idsOf(claimed), [second!.id, third!.id]);
  },

  "a position compares the moment before the id": async (given) => {
    await given.fire({ at: given.later(-1) });
    await given.fire({ at: given.later(-3) });
    await given.fire({ at: given.later(-2) });
    const [last, , middle] = await given.rows();
    const from = { availableAt: middle!.availableAt, id: middle!.id };
    const receivers = [{ key: "stock.reserve", leaseMs: 60_000, from }];
    const claimed = await given.storage.claim({ worker: "worker-a", receivers, limit: 10, now: given.now });
    assert.deepEqual(idsOf(claimed), [middle!.id, last!.id]);
  },

  "each receiver has its own position": async (given) => {
    await given.fire({ receivers: ["a", "b"] });
    const from = { availableAt: given.later(1), id: "0" };
    const receivers = [{ key: "a", leaseMs: 60_000, from }, { key: "b", leaseMs: 60_000 }];
    const claimed = await given.storage.claim({ worker: "worker-a", receivers, limit: 10, now: given.now });
    assert.deepEqual(claimed.map((each) => each.receiverKey), ["b"]);
  },

  "a row with a key that orders is claimed like any other": async (given) => {
    await given.fire({ orderKey: "order-1" });
    await given.claimOne();
  },

  "events that share a batch come with each of their rows": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"], payload: '{"n":1}' });
    const claimed = await given.claim({ receivers: ["a", "b"] });
    assert.deepEqual(claimed.map((each) => [each.event.id, each.event.payload]), [
      [event.id, '{"n":1}'],
      [event.id, '{"n":1}'],
    ]);
  },

  "a row whose event is gone comes without it, so that it can end, and does not stop the others": async (given) => {
    const gone = await given.fire();
    await given.fire();
    await given.database.query(`delete from ${given.database.table("events")} where id = '${gone.id}'`);
    const [first, second] = await given.claim();
    assert.deepEqual([first!.event.id, first!.event.name, first!.event.version], [gone.id, "", 0]);
    assert.notEqual(second!.event.id, gone.id);
    assert.equal(second!.event.name, "orders.placed");
    await given.settled(first!, dead("Error: the event is gone"));
  },

  "within a transaction it sees what that has written": async (given) => {
    await given.storage.transaction(async (tx) => {
      const event = anEvent();
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      await given.claimOne({ within: tx });
    });
    assert.equal((await given.row()).status, "claimed");
  },

  "within a transaction that is rolled back it claims nothing": async (given) => {
    await given.fire();
    const before = await given.row();
    await assert.rejects(given.storage.transaction(async (tx) => {
      await given.claimOne({ within: tx });
      throw new Error("undo");
    }));
    assert.deepEqual(await given.row(), before);
  },
};
