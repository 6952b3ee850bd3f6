import assert from "node:assert/strict";
import type { Cases } from "./given.ts";
import { dead, deferredFor, notYet, retryIn, succeeded } from "./samples.ts";

export const settleWithinCases: Cases = {
  "commits with the transaction": async (given) => {
    const { fence } = await given.held();
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      assert.equal(await given.storage.settleWithin(tx, { fence, settlement: succeeded }), "applied");
    });
    const { status, attempts } = await given.row();
    assert.deepEqual([status, attempts], ["succeeded", 1]);
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "commits with a transaction that the driver opened": async (given) => {
    const { fence } = await given.held();
    await given.storage.yielding(() =>
      given.database.begin(async (client) => {
        await given.note(client, "work");
        const tx = given.storage.join(client);
        assert.equal(await given.storage.settleWithin(tx, { fence, settlement: succeeded }), "applied");
      })
    );
    assert.equal((await given.row()).status, "succeeded");
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "is undone with the transaction": async (given) => {
    const { fence } = await given.held();
    const before = await given.row();
    await assert.rejects(given.storage.transaction(async (tx) => {
      await given.storage.settleWithin(tx, { fence, settlement: succeeded });
      throw new Error("undo");
    }));
    assert.deepEqual(await given.row(), before);
    await given.settled({ fence }, dead());
  },

  "a lost claim is not applied, and changes nothing": async (given) => {
    const { fence } = await given.held({ leaseMs: 1_000 });
    await given.claimOne({ worker: "worker-b", now: given.later(1_000) });
    const before = await given.row();
    await given.storage.transaction(async (tx) => {
      assert.equal(await given.storage.settleWithin(tx, { fence, settlement: succeeded }), "lost");
    });
    assert.deepEqual(await given.row(), before);
  },

  "a claim that was settled is not applied again": async (given) => {
    const held = await given.held();
    await given.settled(held, succeeded);
    await given.storage.transaction(async (tx) => {
      const answer = await given.storage.settleWithin(tx, { fence: held.fence, settlement: succeeded });
      assert.equal(answer, "already");
    });
    assert.equal((await given.row()).attempts, 1);
  },

  "records a failure by the database's clock": async (given) => {
    const { fence } = await given.held();
    await given.storage.transaction((tx) => given.storage.settleWithin(tx, { fence, settlement: retryIn(3_600_000) }));
    const { status, availableAt, lastError } = await given.row();
    assert.deepEqual([status, lastError], ["failed", "Error: no luck"]);
    assert.ok(availableAt > given.later(3_540_000) && availableAt < given.later(3_660_000), `${availableAt}`);
  },

  "records a deferral and a moved moment": async (given) => {
    const until = given.later(86_400_000);
    await given.fireMany(2);
    const [first, second] = await given.claim();
    await given.storage.transaction(async (tx) => {
      const deferred = { fence: first!.fence, settlement: deferredFor(3_600_000) };
      const moved = { fence: second!.fence, settlement: notYet(until) };
      assert.equal(await given.storage.settleWithin(tx, deferred), "applied");
      assert.equal(await given.storage.settleWithin(tx, moved), "applied");
    });
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => [row.status, row.attempts]), [["failed", 0], ["pending", 0]]);
    assert.deepEqual([rows[1]!.availableAt, rows[1]!.dueAt], [until, until]);
  },

  "keeps others from the row while the transaction is open": async (given) => {
    const { fence } = await given.held({ leaseMs: 1 });
    await given.storage.transaction(async (tx) => {
      await given.storage.settleWithin(tx, { fence, settlement: succeeded });
      assert.deepEqual(await given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) }), []);
    });
  },
};
