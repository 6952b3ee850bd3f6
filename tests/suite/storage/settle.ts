import assert from "node:assert/strict";
import type { Settlement } from "../../../src/storage/settlement.ts";
import { all, type Cases, type Given } from "./given.ts";
import {
  after,
  dead,
  deferredFor,
  notYet,
  orphaned,
  postponed,
  range,
  released,
  retryIn,
  succeeded,
} from "./samples.ts";

/** A moment far from every case's own. */
const until = 4_102_444_800_000_007n;

const settlements: readonly Settlement[] = [
  succeeded,
  retryIn(1_000),
  deferredFor(1_000),
  notYet(until),
  dead(),
  postponed(1_000),
  orphaned,
  released,
];

/** A row claimed for the second time, after a failure, so that nothing about it is as it was at first. */
async function heldAgain(given: Given) {
  await given.settled(await given.held(), retryIn(0, "Error: the first"));
  return await given.claimOne();
}

/** A row that another worker has taken over after the lease lapsed. */
async function stolen(given: Given) {
  const held = await given.held({ leaseMs: 1_000 });
  const thief = await given.claimOne({ worker: "worker-b", now: given.later(1_000) });
  return { held, thief };
}

export const settleCases: Cases = {
  "a success ends the row and counts": async (given) => {
    const held = await given.held();
    await given.settled(held, succeeded, given.later(5));
    const { status, attempts, completedAt, availableAt } = await given.row();
    assert.deepEqual([status, attempts, completedAt, availableAt], ["succeeded", 1, given.later(5), given.now]);
  },

  "a failure is owed again after its delay": async (given) => {
    const held = await given.held();
    await given.settled(held, retryIn(1_500, "Error: no luck"), given.later(5));
    const { status, attempts, availableAt, completedAt, lastError, leasedUntil } = await given.row();
    assert.deepEqual([status, attempts, completedAt, leasedUntil], ["failed", 1, null, null]);
    assert.equal(availableAt, given.later(1_505));
    assert.equal(lastError, "Error: no luck");
  },

  "a deferral is a failure that spends no attempt": async (given) => {
    await given.settled(await given.held(), deferredFor(1_500, "RetryAfter: throttled"), given.later(5));
    const { status, attempts, availableAt, dueAt, completedAt, lastError, leasedUntil } = await given.row();
    assert.deepEqual([status, attempts, completedAt, leasedUntil], ["failed", 0, null, null]);
    assert.deepEqual([availableAt, dueAt, lastError], [given.later(1_505), null, "RetryAfter: throttled"]);
  },

  "a deferral spends none of the attempts that were counted": async (given) => {
    await given.settled(await heldAgain(given), deferredFor(0));
    assert.equal((await given.row()).attempts, 1);
  },

  "not yet moves a row to exactly that moment and changes nothing else": async (given) => {
    await given.fire({ dueAt: given.later(-10), at: given.later(-20) });
    const { claimedAt: _a, claimedBy: _b, ...before } = await given.row();
    const until = given.later(86_400_000.001);
    await given.settled(await given.claimOne(), notYet(until), given.later(5));
    const { claimedAt: _c, claimedBy: _d, ...row } = await given.row();
    assert.deepEqual(row, { ...before, availableAt: until, dueAt: until });
  },

  "not yet makes a failed row pending, and keeps its attempts and error": async (given) => {
    await given.settled(await heldAgain(given), notYet(given.later(1_000)));
    const { status, attempts, lastError, dueAt } = await given.row();
    assert.deepEqual([status, attempts, lastError, dueAt], ["pending", 1, "Error: the first", given.later(1_000)]);
  },

  "not yet goes by its own moment, not by the clock": async (given) => {
    const held = await given.held();
    await given.storage.settle([{ fence: held.fence, settlement: notYet(given.later(-3_600_000)) }]);
    const { availableAt, dueAt } = await given.row();
    assert.deepEqual([availableAt, dueAt], [given.later(-3_600_000), given.later(-3_600_000)]);
  },

  "not yet is never taken before its moment, though backoff be ignored": async (given) => {
    await given.settled(await heldAgain(given), notYet(given.later(2_000)));
    assert.deepEqual(await given.claim({ now: given.later(1_999.999), ignoreBackoff: true }), []);
    const { attempts, dueAt, availableAt } = await given.claimOne({ now: given.later(2_000) });
    assert.deepEqual([attempts, dueAt, availableAt], [1, given.later(2_000), given.later(2_000)]);
  },

  "not yet until the last moment that a Date can hold": async (given) => {
    await given.fireMany(2);
    const [first, second] = await given.claim();
    const last = 8_640_000_000_000_000_000n;
    const batch = [{ fence: first!.fence, settlement: notYet(last) }, { fence: second!.fence, settlement: succeeded }];
    assert.deepEqual(await given.storage.settle(batch, given.now), ["applied", "applied"]);
    const { availableAt, dueAt } = await given.row(first!.fence.id);
    assert.deepEqual([availableAt, dueAt], [last, last]);
  },

  "dead ends the row and keeps why": async (given) => {
    await given.settled(await given.held(), dead("Error: gone for good"), given.later(5));
    const { status, attempts, completedAt, lastError } = await given.row();
    assert.deepEqual([status, attempts, completedAt], ["dead", 1, given.later(5)]);
    assert.equal(lastError, "Error: gone for good");
  },

  "dead without an attempt counts none": async (given) => {
    await given.settled(await given.held(), dead("too many lapses", false));
    assert.equal((await given.row()).attempts, 0);
  },

  "orphaned ends the row and counts none": async (given) => {
    await given.settled(await given.held(), orphaned, given.later(5));
    const { status, attempts, completedAt, lastError } = await given.row();
    assert.deepEqual([status, attempts, completedAt, lastError], ["orphaned", 0, given.later(5), "nobody lists it"]);
  },

  "postponed moves a pending row and nothing else": async (given) => {
    await given.fire();
    const before = await given.row();
    await given.settled(await given.claimOne(), postponed(1_000));
    const { claimedAt: _a, claimedBy: _b, ...row } = await given.row();
    const { claimedAt: _c, claimedBy: _d, ...expected } = before;
    assert.deepEqual(row, { ...expected, availableAt: given.later(1_000) });
  },

  "postponed leaves a failed row failed": async (given) => {
    await given.settled(await heldAgain(given), postponed(1_000));
    const { status, attempts, availableAt, lastError } = await given.row();
    assert.deepEqual([status, attempts, lastError], ["failed", 1, "Error: the first"]);
    assert.equal(availableAt, given.later(1_000));
  },

  "released leaves a pending row as it was": async (given) => {
    await given.fire();
    const { claimedAt: _a, claimedBy: _b, ...before } = await given.row();
    await given.settled(await given.claimOne(), released);
    const { claimedAt: _c, claimedBy: _d, ...row } = await given.row();
    assert.deepEqual(row, before);
  },

  "released leaves a failed row failed": async (given) => {
    await given.settled(await heldAgain(given), released);
    const { status, attempts, availableAt, lastError } = await given.row();
    assert.deepEqual([status, attempts, availableAt, lastError], ["failed", 1, given.now, "Error: the first"]);
  },

  "released keeps the place in the queue": async (given) => {
    await given.fireMany(3);
    const claimed = await given.claim();
    await given.storage.settle(all(claimed, released), given.later(60_000));
    assert.deepEqual((await given.claim()).map(({ fence }) => fence.id), claimed.map(({ fence }) => fence.id));
  },

  "of two claims of a row in one call each is answered for itself": async (given) => {
    for (const ofTheStale of settlements) {
      for (const reversed of [false, true]) {
        const { held, thief } = await stolen(given);
        const both = [
          { fence: held.fence, settlement: ofTheStale },
          { fence: thief.fence, settlement: succeeded },
        ];
        const answers = await given.storage.settle(reversed ? both.reverse() : both, given.later(1_000));
        assert.deepEqual(reversed ? answers.reverse() : answers, ["lost", "applied"], ofTheStale.kind);
        assert.equal((await given.row()).status, "succeeded");
        await given.database.clear();
      }
    }
  },

  "a retry is never taken before its delay": async (given) => {
    await given.settled(await given.held(), retryIn(2_000));
    assert.deepEqual(await given.claim({ now: given.later(1_999.999) }), []);
    assert.equal((await given.claimOne({ now: given.later(2_000) })).attempts, 1);
  },

  "a retry without a delay is claimable at the very same moment": async (given) => {
    await given.settled(await given.held(), retryIn(0));
    await given.claimOne();
  },

  "a delay with a fraction is kept to the microsecond": async (given) => {
    for (const settlement of [retryIn(1234.5678), postponed(1234.5678)]) {
      const held = await given.held();
      await given.settled(held, settlement);
      const late = Number((await given.row(held.fence.id)).availableAt - given.now);
      assert.ok(Math.abs(late - 1_234_567.8) <= 1, `${late}`);
    }
  },

  "a long delay is kept": async (given) => {
    await given.settled(await given.held(), retryIn(366 * 86_400_000));
    assert.equal((await given.row()).availableAt, given.later(366 * 86_400_000));
  },

  "the last error replaces the one before": async (given) => {
    await given.settled(await heldAgain(given), retryIn(0, "Error: the second"));
    assert.equal((await given.row()).lastError, "Error: the second");
  },

  "the due moment and the owed moment stay": async (given) => {
    const dueAt = given.later(-10);
    for (const settlement of settlements) {
      await given.fire({ dueAt, at: given.later(-20) });
      const held = await given.claimOne();
      await given.settled(held, settlement);
      const row = await given.row(held.fence.id);
      const expected = settlement.kind === "notYetUntil" ? settlement.until : dueAt;
      assert.deepEqual([row.dueAt, row.owedSince], [expected, given.later(-20)], settlement.kind);
      await given.database.clear();
    }
  },

  "without a moment the database's clock decides": async (given) => {
    const held = await given.held();
    await given.storage.settle([{ fence: held.fence, settlement: retryIn(3_600_000) }]);
    const { availableAt } = await given.row();
    assert.ok(availableAt > given.later(3_540_000) && availableAt < given.later(3_660_000), `${availableAt}`);
  },

  "a claim that lapsed and was not taken can be settled": async (given) => {
    await given.settled(await given.held({ leaseMs: 1 }), succeeded, given.later(60_000));
    assert.equal((await given.row()).status, "succeeded");
  },

  "a stolen row answers lost, and nothing changes": async (given) => {
    for (const settlement of settlements) {
      const { held, thief } = await stolen(given);
      const now = given.later(1_000);
      const before = await given.row(held.fence.id, now);
      assert.equal(await given.settle(held, settlement, now), "lost", settlement.kind);
      assert.deepEqual(await given.row(held.fence.id, now), before);
      await given.settled(thief, dead(), now);
    }
  },

  "a row that its thief has settled answers lost": async (given) => {
    for (const ended of [succeeded, dead(), released]) {
      const { held, thief } = await stolen(given);
      await given.settled(thief, ended);
      const before = await given.row(held.fence.id);
      for (const settlement of [succeeded, retryIn(0), dead()]) {
        assert.equal(await given.settle(held, settlement), "lost", `${settlement.kind} after ${ended.kind}`);
      }
      assert.deepEqual(await given.row(held.fence.id), before);
      await given.database.clear();
    }
  },

  "an earlier claim of the same worker answers lost": async (given) => {
    const first = await given.held();
    await given.settled(first, released);
    await given.claimOne();
    assert.equal(await given.settle(first, succeeded), "lost");
  },

  "the same moment of another worker answers lost": async (given) => {
    const { fence } = await given.held();
    for (const claimedBy of ["worker-b", "Worker-a", "worker-a ", ""]) {
      for (const settlement of settlements) {
        assert.equal(await given.settle({ fence: { ...fence, claimedBy } }, settlement), "lost", claimedBy);
      }
    }
    assert.equal((await given.row()).status, "claimed");
  },

  "a moment that is off by a microsecond answers lost": async (given) => {
    const { fence } = await given.held();
    for (const offset of [-1n, 1n]) {
      const off = { ...fence, claimedAt: fence.claimedAt + offset };
      for (const settlement of settlements) assert.equal(await given.settle({ fence: off }, settlement), "lost");
    }
    assert.equal((await given.row()).status, "claimed");
  },

  "a row that nobody has claimed answers lost": async (given) => {
    await given.fire();
    const before = await given.row();
    const fence = { id: before.id, claimedBy: "worker-a", claimedAt: given.now };
    for (const settlement of settlements) assert.equal(await given.settle({ fence }, settlement), "lost");
    assert.deepEqual(await given.row(), before);
  },

  "a row that is not there answers gone": async (given) => {
    const { fence } = await given.held();
    await given.database.query(`delete from ${given.database.table("deliveries")}`);
    for (const settlement of settlements) assert.equal(await given.settle({ fence }, settlement), "gone");
  },

  "the same settlement twice answers already": async (given) => {
    for (const settlement of settlements) {
      const held = await given.held();
      await given.settled(held, settlement);
      const before = await given.row(held.fence.id);
      assert.equal(await given.settle(held, settlement, given.later(5)), "already", settlement.kind);
      assert.deepEqual(await given.row(held.fence.id), before);
      await given.database.clear();
    }
  },

  "another settlement of a settled claim answers already, and nothing changes": async (given) => {
    for (const first of settlements) {
      const held = await given.held();
      await given.settled(held, first);
      const before = await given.row(held.fence.id);
      for (const second of settlements) {
        assert.equal(await given.settle(held, second), "already", `${second.kind} after ${first.kind}`);
      }
      assert.deepEqual(await given.row(held.fence.id), before);
      await given.database.clear();
    }
  },

  "a locked row answers busy without waiting, and can be settled later": async (given) => {
    const held = await given.held();
    const opened = await given.acknowledge(held);
    assert.equal(await given.settle(held, succeeded), "busy");
    await opened.abandon();
    await given.settled(held, succeeded);
  },

  "a row that a thief's transaction has locked is not answered already or gone": async (given) => {
    const { held, thief } = await stolen(given);
    const opened = await given.acknowledge(thief);
    assert.ok(["busy", "lost"].includes(await given.settle(held, succeeded)));
    await opened.abandon();
  },

  "nothing to settle answers nothing": async (given) => {
    assert.deepEqual(await given.storage.settle([], given.now), []);
  },

  "mixed outcomes are answered in order": async (given) => {
    await given.fireMany(6);
    const claimed = await given.claim();
    const [success, retry, lost, already, gone, done] = claimed.map(({ fence }) => fence);
    await given.settled({ fence: already! }, dead());
    await given.database.query(`delete from ${given.database.table("deliveries")} where id = ${gone!.id}`);
    const answers = await given.storage.settle([
      { fence: gone!, settlement: succeeded },
      { fence: success!, settlement: succeeded },
      { fence: already!, settlement: succeeded },
      { fence: retry!, settlement: retryIn(1_000) },
      { fence: { ...lost!, claimedBy: "worker-b" }, settlement: succeeded },
      { fence: done!, settlement: orphaned },
    ], given.now);
    assert.deepEqual(answers, ["gone", "applied", "already", "applied", "lost", "applied"]);
    assert.deepEqual((await given.rows()).map((row) => row.status), [
      "succeeded",
      "failed",
      "claimed",
      "dead",
      "orphaned",
    ]);
  },

  "each of a batch has its own settlement": async (given) => {
    await given.fireMany(settlements.length);
    const claimed = await given.claim();
    const batch = claimed.map(({ fence }, i) => ({ fence, settlement: settlements[i]! }));
    assert.deepEqual(await given.storage.settle(batch, given.now), settlements.map(() => "applied"));
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.status), [
      "succeeded",
      "failed",
      "failed",
      "pending",
      "dead",
      "pending",
      "orphaned",
      "pending",
    ]);
    const moved = rows.map((row) => row.availableAt - given.now);
    assert.deepEqual(moved, [0n, 1_000_000n, 1_000_000n, until - given.now, 0n, 1_000_000n, 0n, 0n]);
    assert.deepEqual(rows.map((row) => row.attempts), [1, 1, 0, 0, 1, 0, 0, 0]);
    assert.deepEqual(rows.map((row) => row.dueAt), [null, null, null, until, null, null, null, null]);
  },

  "a thousand at once, of several workers": async (given) => {
    await given.fireMany(1_000);
    const claimed = [
      ...await given.claim({ limit: 500 }),
      ...await given.claim({ limit: 500, worker: "worker-b" }),
    ];
    const batch = claimed.map(({ fence }, i) => ({ fence, settlement: i % 2 ? succeeded : dead() }));
    const answers = await given.storage.settle(batch, given.now);
    assert.deepEqual(answers, range(1_000).map(() => "applied"));
  },

  "within a transaction it is recorded with the rest": async (given) => {
    const held = await given.held();
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      const answers = await given.storage.settle([{ fence: held.fence, settlement: succeeded }], given.now, tx);
      assert.deepEqual(answers, ["applied"]);
    });
    assert.equal((await given.row()).status, "succeeded");
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "within a transaction that is rolled back nothing is recorded": async (given) => {
    const held = await given.held();
    const before = await given.row();
    for (const settlement of settlements) {
      await assert.rejects(given.storage.transaction(async (tx) => {
        await given.storage.settle([{ fence: held.fence, settlement }], given.now, tx);
        throw new Error("undo");
      }));
    }
    assert.deepEqual(await given.row(), before);
  },

  "a settlement frees the row for the next claim alone": async (given) => {
    await given.settled(await given.held(), retryIn(1_000));
    const second = await given.claimOne({ now: given.later(1_000), worker: "worker-b" });
    assert.equal(second.attempts, 1);
    assert.equal((await given.row(second.fence.id, after(given.now, 1_000))).status, "claimed");
  },
};
