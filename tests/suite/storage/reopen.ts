import assert from "node:assert/strict";
import type { NewDelivery, NewEvent } from "../../../src/storage/records.ts";
import type { Settlement } from "../../../src/storage/settlement.ts";
import type { Reopened, Reopening } from "../../../src/storage/storage.ts";
import { all, type Cases, type Given } from "./given.ts";
import { aDebt, after, anEvent, dead, orphaned, range, retryIn, succeeded } from "./samples.ts";

/** What `reopen` takes for an event and debts that differ from the usual one in these fields. */
export function wanted(event: NewEvent, ...debts: Partial<NewDelivery>[]): Reopening {
  const fields = debts.length === 0 ? [{}] : debts;
  return { eventId: event.id, deliveries: fields.map((each) => aDebt(event, each)) };
}

function reopen(given: Given, ...events: Reopening[]): Promise<Reopened> {
  return given.storage.reopen(events, given.later(60_000));
}

/** Ends the debts of these receivers. */
async function end(given: Given, settlement: Settlement, receivers = ["stock.reserve"], now = given.now) {
  const claimed = await given.claim({ receivers, limit: 10_000, now });
  const answers = await given.storage.settle(all(claimed, settlement), now);
  assert.deepEqual(new Set(answers), new Set(["applied"]));
}

const ends: Readonly<Record<string, (given: Given) => Promise<void>>> = {
  succeeded: (given) => end(given, succeeded),
  dead: (given) => end(given, dead("Error: the last")),
  orphaned: (given) => end(given, orphaned),
  cancelled: async (given) => {
    // No verb cancels yet: written as one will.
    await given.claimOne();
    await given.database.query(
      `update ${given.database.table("deliveries")} set status = 'cancelled', completed_at = available_at,
        leased_until = null`,
    );
  },
};

/** Names of the moments at which these receivers succeeded last, as they are remembered. */
async function remembered(given: Given, moments: Readonly<Record<string, bigint>>): Promise<string[]> {
  // Compared in the database: drivers would round what they read.
  const marks = Object.entries(moments).map(([name, occurredAt]) => anEvent({ name, occurredAt }));
  await given.storage.transaction((tx) => given.storage.append(tx, marks, [], given.now));
  const { table, query } = given.database;
  const rows = await query(
    `select s.receiver_key, e.name from ${table("receiver_successes")} s
      left join ${table("events")} e on e.occurred_at = s.last_succeeded_at order by s.receiver_key`,
  );
  return rows.map((row) => `${row.receiver_key} ${row.name}`);
}

export const reopenCases: Cases = {
  ...Object.fromEntries(
    Object.entries(ends).map(([status, arrange]) => [
      `${status} starts afresh`,
      async (given: Given) => {
        const event = await given.fire({ target: "a", dueAt: given.later(-5), at: given.later(-10) });
        await given.settled(await given.claimOne(), retryIn(0, "Error: the first"));
        await given.claimOne({ leaseMs: 1 });
        await given.database.query(`update ${given.database.table("deliveries")} set leased_until = null`);
        await arrange(given);
        const before = await given.row();
        assert.equal(before.status, status);
        const done = await reopen(given, wanted(event, { target: "a", maxAttempts: 9 }));
        assert.deepEqual(done, { reopened: 1, added: 0 });
        assert.deepEqual(await given.row(), {
          id: before.id,
          eventId: event.id,
          receiverKey: "stock.reserve",
          target: "a",
          status: "pending",
          attempts: 0,
          maxAttempts: 9,
          lapses: 0,
          availableAt: given.later(60_000),
          dueAt: null,
          owedSince: given.later(60_000),
          claimedBy: null,
          claimedAt: null,
          leasedUntil: null,
          completedAt: null,
          lastError: null,
        });
      },
    ]),
  ),

  "the count of lapses starts afresh": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      const event = await given.fire();
      await given.claimOne({ leaseMs: 1 });
      const claimed = await given.claimOne({ now: given.later(1) });
      assert.equal(claimed.lapses, 1);
      await given.settled(claimed, settlement);
      await reopen(given, wanted(event));
      assert.equal((await given.row()).lapses, 0);
      assert.equal((await given.claimOne({ now: given.later(60_000) })).lapses, 0);
      await given.database.clear();
    }
  },

  "a missing one is added": async (given) => {
    const event = await given.fire();
    const done = await reopen(given, wanted(event, { receiverKey: "loyalty.points", target: "a", maxAttempts: 7 }));
    assert.deepEqual(done, { reopened: 0, added: 1 });
    const [first, added] = await given.rows();
    assert.deepEqual(added, {
      ...first!,
      id: added!.id,
      receiverKey: "loyalty.points",
      target: "a",
      maxAttempts: 7,
      availableAt: given.later(60_000),
      owedSince: given.later(60_000),
    });
    await given.claimOne({ receivers: ["loyalty.points"], now: given.later(60_000) });
  },

  "to an event without debts they are added": async (given) => {
    const event = await given.fire({ receivers: [], suppressedReason: "import" });
    const done = await reopen(given, wanted(event, { receiverKey: "a" }, { receiverKey: "b" }));
    assert.deepEqual(done, { reopened: 0, added: 2 });
    assert.deepEqual((await given.rows()).map((row) => row.receiverKey), ["a", "b"]);
  },

  "what is added is numbered in the order it was given": async (given) => {
    const events = await given.fireMany(20, "stock.reserve");
    const keys = ["c", "a", "b"];
    await reopen(given, ...events.map((event) => wanted(event, ...keys.map((receiverKey) => ({ receiverKey })))));
    const rows = (await given.rows()).slice(20);
    assert.deepEqual(
      rows.map((row) => `${row.eventId} ${row.receiverKey}`),
      events.flatMap(({ id }) => keys.map((key) => `${id} ${key}`)),
    );
  },

  "one that is owed is left as it is": async (given) => {
    const pending = await given.fire({ receivers: ["pending"], dueAt: given.later(3_600_000) });
    const failed = await given.fire({ receivers: ["failed"] });
    await given.settled(await given.claimOne({ receivers: ["failed"] }), retryIn(1_000));
    const claimed = await given.fire({ receivers: ["claimed"] });
    const held = await given.claimOne({ receivers: ["claimed"], leaseMs: 3_600_000 });
    const lapsed = await given.fire({ receivers: ["lapsed"] });
    const quiet = await given.claimOne({ receivers: ["lapsed"], leaseMs: 1 });
    const before = await given.rows();
    const events = [
      wanted(pending, { receiverKey: "pending", maxAttempts: 9 }),
      wanted(failed, { receiverKey: "failed" }),
      wanted(claimed, { receiverKey: "claimed" }),
      wanted(lapsed, { receiverKey: "lapsed" }),
    ];
    assert.deepEqual(await reopen(given, ...events), { reopened: 0, added: 0 });
    assert.deepEqual(await given.rows(), before);
    await given.settled(held, succeeded);
    await given.settled(quiet, succeeded);
  },

  "reopens one target, adds another, and leaves a third that is not wanted": async (given) => {
    const event = anEvent();
    const debts = ["a", "b"].map((target) => aDebt(event, { target }));
    await given.storage.transaction((tx) => given.storage.append(tx, [event], debts, given.now));
    for (const settlement of [succeeded, dead()]) {
      await end(given, settlement, undefined, given.later(60_000));
      const [left] = await given.rows();
      const done = await reopen(given, wanted(event, { target: "b" }, { target: `c ${settlement.kind}` }));
      assert.deepEqual(done, { reopened: 1, added: 1 });
      const [a, b, c] = await given.rows();
      assert.deepEqual(a, left);
      assert.deepEqual([b!.target, b!.status, b!.attempts], ["b", "pending", 0]);
      assert.equal(c!.status, settlement === succeeded ? "pending" : "dead");
    }
  },

  "an empty target and a named one are two": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      const event = await given.fire({ target: "" });
      await end(given, settlement);
      assert.deepEqual(await reopen(given, wanted(event, { target: "a" })), { reopened: 0, added: 1 });
      assert.deepEqual(await reopen(given, wanted(event, { target: "" })), { reopened: 1, added: 0 });
      await given.database.clear();
    }
  },

  "targets that differ after three thousand characters are two": async (given) => {
    const [a, b] = ["a", "b"].map((last) => "x".repeat(3_000) + last);
    for (const settlement of [succeeded, dead()]) {
      const event = await given.fire({ target: a! });
      await end(given, settlement);
      const done = await reopen(given, wanted(event, { target: b! }, { target: a! }));
      assert.deepEqual(done, { reopened: 1, added: 1 });
      await given.database.clear();
    }
  },

  "is matched by the digest of its target, never by its text": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      const event = await given.fire({ target: "a" });
      await given.database.query(`update ${given.database.table("deliveries")} set target = 'b'`);
      await end(given, settlement);
      assert.deepEqual(await reopen(given, wanted(event, { target: "a" })), { reopened: 1, added: 0 });
      await given.database.clear();
    }
  },

  "the same key and target of another event is another debt": async (given) => {
    const [event, other] = [await given.fire(), await given.fire()];
    await end(given, succeeded);
    assert.deepEqual(await reopen(given, wanted(event)), { reopened: 1, added: 0 });
    const rows = await given.storage.findDeliveries({ eventId: other.id });
    assert.deepEqual(rows.map((row) => row.status), ["succeeded"]);
  },

  "is due when what is wanted is due": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"] });
    await end(given, succeeded, ["a"]);
    await end(given, dead(), ["b"]);
    const [now, dueAt] = [given.later(60_000), given.later(90_000)];
    const dues: Partial<NewDelivery>[] = [
      { receiverKey: "a", dueAt },
      { receiverKey: "b", dueInMs: 30_000 },
      { receiverKey: "c", dueAt },
      { receiverKey: "d", dueInMs: 30_000 },
      { receiverKey: "e", dueAt: given.later(-1) },
    ];
    assert.deepEqual(await reopen(given, wanted(event, ...dues)), { reopened: 2, added: 3 });
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.dueAt), [dueAt, dueAt, dueAt, dueAt, given.later(-1)]);
    assert.deepEqual(rows.map((row) => row.availableAt), [dueAt, dueAt, dueAt, dueAt, now]);
    assert.deepEqual(new Set(rows.map((row) => row.owedSince)), new Set([now]));
  },

  "what is named twice counts once, and the first counts": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"] });
    await end(given, succeeded, ["a"]);
    await end(given, dead(), ["b"]);
    const twice = ["a", "b", "c"].map((receiverKey) => wanted(event, { receiverKey, maxAttempts: 3 }, { receiverKey }));
    const done = await reopen(given, ...twice, wanted(event, { receiverKey: "c" }));
    assert.deepEqual(done, { reopened: 2, added: 1 });
    assert.deepEqual((await given.rows()).map((row) => row.maxAttempts), [3, 3, 3]);
  },

  "an event that is gone is passed over": async (given) => {
    const event = await given.fire();
    await end(given, dead());
    await given.database.query(`delete from ${given.database.table("events")}`);
    const other = await given.fire();
    await end(given, succeeded);
    const before = await given.rows();
    const done = await reopen(given, wanted(event, {}, { receiverKey: "b" }), wanted(anEvent()), wanted(other));
    assert.deepEqual(done, { reopened: 1, added: 0 });
    assert.deepEqual((await given.rows()).filter((row) => row.eventId === event.id), before.slice(0, 1));
    assert.equal((await given.rows()).length, 2);
  },

  "nothing wanted changes nothing": async (given) => {
    const event = await given.fire();
    await end(given, dead());
    const nothing = { reopened: 0, added: 0 };
    assert.deepEqual(await reopen(given), nothing);
    assert.deepEqual(await reopen(given, { eventId: event.id, deliveries: [] }), nothing);
    assert.equal((await given.row()).status, "dead");
  },

  "when one cannot be written nothing is": async (given) => {
    const event = await given.fire();
    await end(given, succeeded);
    const before = await given.rows();
    await assert.rejects(reopen(given, wanted(event, {}, { receiverKey: null as never })));
    assert.deepEqual(await given.rows(), before);
    assert.equal(await given.count("receiver_successes"), 0);
  },

  "is claimed in its new place, by anybody": async (given) => {
    const event = await given.fire();
    await end(given, succeeded);
    await given.fire({ at: given.later(1_000) });
    await reopen(given, wanted(event));
    const claimed = await given.claim({ worker: "worker-b", now: given.later(60_000) });
    assert.deepEqual(claimed.map((each) => each.event.id === event.id), [false, true]);
    const { attempts, lapses, owedSince, dueAt } = claimed[1]!;
    assert.deepEqual([attempts, lapses, owedSince, dueAt], [0, 0, given.later(60_000), null]);
  },

  "lives a second life, and a third": async (given) => {
    const event = await given.fire();
    const { id } = await given.row();
    for (const [n, settlement] of [succeeded, dead("Error: the second"), succeeded, succeeded].entries()) {
      const now = given.later(60_000 * n);
      await end(given, settlement, undefined, now);
      const { status, attempts, lastError, completedAt } = await given.row(id);
      assert.deepEqual([attempts, completedAt], [1, now]);
      assert.equal(lastError, status === "dead" ? "Error: the second" : null);
      const done = await given.storage.reopen([wanted(event)], given.later(60_000 * (n + 1)));
      assert.deepEqual(done, { reopened: 1, added: 0 });
      assert.equal((await given.row()).id, id);
    }
  },

  "an outcome of the life before is lost, under a clock that stands still too": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      const event = await given.fire();
      const before = await given.claimOne();
      await given.settled(before, settlement);
      assert.equal((await given.storage.reopen([wanted(event)], given.now)).reopened, 1);
      const unclaimed = await given.row();
      assert.equal(await given.settle(before, succeeded), "lost");
      assert.deepEqual(await given.row(), unclaimed);
      const again = await given.claimOne();
      assert.ok(again.fence.claimedAt > before.fence.claimedAt, "two claims share a fence");
      for (const late of [succeeded, retryIn(0), dead()]) assert.equal(await given.settle(before, late), "lost");
      assert.equal(await given.storage.take({ fence: before.fence, worker: "task", leaseMs: 1, now: given.now }), null);
      await given.settled(again, succeeded);
      await given.database.clear();
    }
  },

  "the last success is remembered": async (given) => {
    const event = await given.fire({ receivers: ["a", "b"] });
    await end(given, succeeded, ["a"], given.later(7.001));
    await end(given, dead(), ["b"], given.later(8));
    await reopen(given, wanted(event, { receiverKey: "a" }, { receiverKey: "b" }));
    assert.deepEqual(await remembered(given, { here: given.later(7.001) }), ["a here"]);
  },

  "an earlier success does not take the place of a later one": async (given) => {
    const [first, second, third] = [await given.fire(), await given.fire(), await given.fire()];
    const claimed = await given.claim();
    for (const [n, ms] of [2_000, 3_000, 1_000].entries()) {
      await given.settled(claimed[n]!, succeeded, given.later(ms));
    }
    await reopen(given, wanted(first), wanted(second));
    await reopen(given, wanted(third));
    const moments = { first: given.later(2_000), second: given.later(3_000), third: given.later(1_000) };
    assert.deepEqual(await remembered(given, moments), ["stock.reserve second"]);
    await end(given, succeeded, undefined, given.later(90_000));
    await reopen(given, wanted(first));
    assert.deepEqual(await remembered(given, { latest: given.later(90_000) }), ["stock.reserve latest"]);
  },

  "without a moment the database's clock decides": async (given) => {
    const event = await given.fire();
    await end(given, dead());
    await given.storage.reopen([wanted(event, {}, { receiverKey: "b" })]);
    for (const { availableAt, owedSince } of await given.rows()) {
      assert.equal(availableAt, owedSince);
      assert.ok(availableAt > after(given.now, -60_000) && availableAt < after(given.now, 60_000), `${availableAt}`);
    }
  },

  "a fan-out to three thousand": async (given) => {
    const event = anEvent();
    const debts = range(3_000).map((n) => aDebt(event, { target: `target ${n}` }));
    await given.storage.transaction((tx) => given.storage.append(tx, [event], debts, given.now));
    await end(given, succeeded);
    const began = performance.now();
    assert.deepEqual(await reopen(given, { eventId: event.id, deliveries: debts }), { reopened: 3_000, added: 0 });
    const ms = performance.now() - began;
    assert.ok(ms < 5_000, `took ${ms} ms`);
  },

  "forty thousand events at once, most of them gone": async (given) => {
    const there = await given.fireMany(200);
    await end(given, succeeded);
    const gone = range(40_000).map(() => anEvent());
    const events = [...gone, ...there].map((event) => wanted(event));
    assert.deepEqual(await reopen(given, ...events), { reopened: 200, added: 0 });
  },
};
