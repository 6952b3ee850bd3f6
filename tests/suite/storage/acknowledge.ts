import assert from "node:assert/strict";
import { WorkFailed } from "../../../src/errors.ts";
import { takeTime, waitFor } from "../../support/wait_for.ts";
import type { Cases, Given } from "./given.ts";
import {
  aDebt,
  anEvent,
  dead,
  deferredFor,
  orphaned,
  postponed,
  range,
  released,
  retryIn,
  succeeded,
} from "./samples.ts";

/** A statement that fails, in whatever SQL; the receiver swallows the error. */
async function fail(given: Given, client: unknown): Promise<void> {
  await assert.rejects(given.database.execute(client, "select 1 from no_such_table"));
}

export const acknowledgeCases: Cases = {
  "a success commits the work and its acknowledgement together": async (given) => {
    const opened = await given.acknowledge(await given.held());
    await given.note(opened.tx.client, "work");
    assert.equal(await opened.finish(succeeded), "applied");
    const { status, attempts } = await given.row();
    assert.deepEqual([status, attempts], ["succeeded", 1]);
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "nobody sees the work or the success before the end": async (given) => {
    const held = await given.held();
    const opened = await given.acknowledge(held);
    await given.note(opened.tx.client, "work");
    const [row] = await given.second.findDeliveries({}, given.now);
    assert.equal(row?.status, "claimed");
    assert.deepEqual(await given.notes(), []);
    await opened.finish(succeeded);
  },

  "a failure undoes the work and is recorded": async (given) => {
    const opened = await given.acknowledge(await given.held());
    await given.note(opened.tx.client, "work");
    assert.equal(await opened.finish(retryIn(3_600_000, "Error: no luck")), "applied");
    const { status, attempts, lastError, availableAt } = await given.row();
    assert.deepEqual([status, attempts, lastError], ["failed", 1, "Error: no luck"]);
    assert.ok(availableAt > given.later(3_540_000) && availableAt < given.later(3_660_000), `${availableAt}`);
    assert.deepEqual(await given.notes(), []);
  },

  "every other outcome undoes the work and is recorded": async (given) => {
    const statuses: string[] = [];
    for (const settlement of [dead(), orphaned, postponed(1_000), deferredFor(0)]) {
      const held = await given.held();
      const opened = await given.acknowledge(held);
      await given.note(opened.tx.client, settlement.kind);
      assert.equal(await opened.finish(settlement), "applied");
      statuses.push((await given.row(held.fence.id)).status);
      await given.database.query(`delete from ${given.database.table("deliveries")}`);
    }
    assert.deepEqual(statuses, ["dead", "orphaned", "pending", "failed"]);
    assert.deepEqual(await given.notes(), []);
  },

  "released undoes the work and spends nothing": async (given) => {
    const held = await given.held();
    const before = await given.row();
    const opened = await given.acknowledge(held);
    await given.note(opened.tx.client, "work");
    await opened.finish(released);
    assert.deepEqual(await given.notes(), []);
    const { attempts, completedAt, lastError, availableAt } = await given.row();
    assert.deepEqual([attempts, completedAt, lastError, availableAt], [0, null, null, before.availableAt]);
  },

  "a lost claim opens nothing": async (given) => {
    const { fence } = await given.held({ leaseMs: 1_000 });
    await given.claimOne({ worker: "worker-b", now: given.later(1_000) });
    const before = await given.row();
    for (const _ of range(20)) { // more than there are connections: none may stay behind
      assert.equal(await given.storage.acknowledge(fence, { timeoutMs: 30_000 }), null);
    }
    assert.deepEqual(await given.row(), before);
    await given.fire();
  },

  "a settled claim opens nothing": async (given) => {
    for (const settlement of [succeeded, dead(), released, retryIn(0)]) {
      const held = await given.held();
      await given.settled(held, settlement);
      assert.equal(await given.storage.acknowledge(held.fence, { timeoutMs: 30_000 }), null, settlement.kind);
      await given.database.clear();
    }
  },

  "a fence that is off by a microsecond opens nothing": async (given) => {
    const { fence } = await given.held();
    const off = { ...fence, claimedAt: fence.claimedAt + 1n };
    assert.equal(await given.storage.acknowledge(off, { timeoutMs: 30_000 }), null);
  },

  "a row that is gone opens nothing": async (given) => {
    const { fence } = await given.held();
    await given.database.query(`delete from ${given.database.table("deliveries")}`);
    assert.equal(await given.storage.acknowledge(fence, { timeoutMs: 30_000 }), null);
  },

  "a claim that lapsed and was not taken can be opened": async (given) => {
    await given.fire({ at: given.later(-60_000) });
    const opened = await given.acknowledge(await given.claimOne({ leaseMs: 1, now: given.later(-60_000) }));
    assert.equal(await opened.finish(succeeded), "applied");
  },

  "the row is nobody else's while it is open, though the lease has lapsed": async (given) => {
    const held = await given.held({ leaseMs: 1 });
    const opened = await given.acknowledge(held);
    const thief = given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    // With one writer the claim waits for the transaction; elsewhere it passes the row by.
    if (!given.storage.capabilities.singleWriter) assert.deepEqual(await thief, []);
    assert.equal(await opened.finish(succeeded), "applied");
    assert.deepEqual(await thief, []);
  },

  "a failure is recorded under the same lock": async (given) => {
    const opened = await given.acknowledge(await given.held({ leaseMs: 1 }));
    const thieves = range(4).map(() => given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) }));
    assert.equal(await opened.finish(retryIn(3_600_000)), "applied");
    assert.deepEqual((await Promise.all(thieves)).flat(), []);
    assert.equal((await given.row()).attempts, 1);
  },

  "abandon undoes the work, records nothing and frees the row": async (given) => {
    const held = await given.held();
    const before = await given.row();
    const opened = await given.acknowledge(held);
    await given.note(opened.tx.client, "work");
    await opened.abandon();
    assert.deepEqual(await given.row(), before);
    assert.deepEqual(await given.notes(), []);
    await given.settled(held, succeeded);
  },

  "abandon frees the row for a thief": async (given) => {
    const opened = await given.acknowledge(await given.held({ leaseMs: 1 }));
    await opened.abandon();
    await given.claimOne({ by: given.second, worker: "worker-b", now: given.later(60_000) });
  },

  "the client is refused after the end": async (given) => {
    for (const end of ["finish", "fail", "abandon"]) {
      const opened = await given.acknowledge(await given.held());
      const { client } = opened.tx;
      await given.note(client, "before");
      if (end === "abandon") await opened.abandon();
      else await opened.finish(end === "fail" ? dead() : succeeded);
      await assert.rejects(async () => await given.note(client, "after"), end);
      await given.database.query(`delete from ${given.database.table("deliveries")}`);
    }
    assert.deepEqual(await given.notes(), ["before"]);
  },

  "a failed statement that was swallowed spoils the work": async (given) => {
    const held = await given.held();
    const opened = await given.acknowledge(held);
    await given.note(opened.tx.client, "work");
    await fail(given, opened.tx.client);
    await assert.rejects(opened.finish(succeeded), WorkFailed);
    assert.equal(await opened.finish(retryIn(1_000, "WorkFailed")), "applied");
    const { status, attempts, lastError } = await given.row();
    assert.deepEqual([status, attempts, lastError], ["failed", 1, "WorkFailed"]);
    assert.deepEqual(await given.notes(), []);
  },

  "WorkFailed names the statement's error": async (given) => {
    const opened = await given.acknowledge(await given.held());
    await fail(given, opened.tx.client);
    const error = await opened.finish(succeeded).catch((error) => error);
    assert.match(String(error.cause), /no_such_table/);
    await opened.abandon();
  },

  "until the failure is recorded the row stays locked": async (given) => {
    const opened = await given.acknowledge(await given.held({ leaseMs: 1 }));
    await fail(given, opened.tx.client);
    await assert.rejects(opened.finish(succeeded), WorkFailed);
    const thief = given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    assert.equal(await opened.finish(dead()), "applied");
    assert.deepEqual(await thief, []);
  },

  "a failed statement that a savepoint undid spoils nothing": async (given) => {
    const opened = await given.acknowledge(await given.held());
    await given.note(opened.tx.client, "kept");
    await assert.rejects(opened.tx.savepoint(async (inner) => {
      await given.note(inner.client, "undone");
      await given.database.execute(inner.client, "select 1 from no_such_table");
    }));
    assert.equal(await opened.finish(succeeded), "applied");
    assert.deepEqual(await given.notes(), ["kept"]);
  },

  "a constraint that fails spoils the work like any statement": async (given) => {
    const event = await given.fire({ dedupeKey: "once" });
    const opened = await given.acknowledge(await given.claimOne());
    const table = given.database.table("events");
    await assert.rejects(
      given.database.execute(opened.tx.client, `insert into ${table} select * from ${table} where id = '${event.id}'`),
    );
    await assert.rejects(opened.finish(succeeded), WorkFailed);
    assert.equal(await opened.finish(dead()), "applied");
  },

  "what is fired inside lives and dies with the work": async (given) => {
    for (const settlement of [succeeded, retryIn(0)]) {
      const opened = await given.acknowledge(await given.held());
      const child = anEvent({ name: "stock.reserved" });
      await given.storage.append(opened.tx, [child], [aDebt(child)], given.now);
      await opened.finish(settlement);
      const children = await given.storage.findEvents({ name: "stock.reserved" });
      assert.equal(children.length, settlement === succeeded ? 1 : 0);
      await given.database.clear();
    }
  },

  "a doomed transaction keeps no work": async (given) => {
    const opened = await given.acknowledge(await given.held());
    await given.note(opened.tx.client, "work");
    await opened.tx.doom();
    await assert.rejects(opened.finish(succeeded));
    await opened.abandon();
    assert.deepEqual(await given.notes(), []);
    assert.equal((await given.row()).status, "claimed");
  },

  "rows are acknowledged side by side": async (given) => {
    await given.fireMany(20);
    const claimed = await given.claim();
    await Promise.all(claimed.map(async (each, i) => {
      const opened = await given.acknowledge(each);
      await given.note(opened.tx.client, "work");
      assert.equal(await opened.finish(i % 2 ? succeeded : retryIn(1_000)), "applied");
    }));
    assert.equal((await given.notes()).length, 10);
  },

  "of a holder who opens and a thief one wins": async (given) => {
    const take = () => given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    for (const round of range(10)) {
      const { fence } = await given.held({ leaseMs: 1 });
      const early = round % 2 ? take() : undefined;
      const opening = given.storage.acknowledge(fence, { timeoutMs: 30_000 });
      const stealing = early ?? take();
      const opened = await opening;
      if (opened) assert.equal(await opened.finish(succeeded), "applied");
      assert.equal((await stealing).length, opened ? 0 : 1);
    }
  },

  "one that hangs is ended, and its row is free": async (given) => {
    const { fence } = await given.held({ leaseMs: 1 });
    const opened = await given.storage.acknowledge(fence, { timeoutMs: 100 });
    await given.note(opened!.tx.client, "work");
    const take = () => given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    await waitFor(async () => (await take()).length === 1, { what: "the row to be free" });
    assert.notEqual(await opened!.finish(succeeded).catch(() => "lost"), "applied");
    await opened!.abandon();
    assert.deepEqual(await given.notes(), []);
    assert.equal((await given.row(fence.id, given.later(60_000))).claimedBy, "worker-b");
  },

  "a statement that is on its way at the end is undone or refused": async (given) => {
    for (const end of ["abandon", "fail"]) {
      const opened = await given.acknowledge(await given.held());
      const late = given.note(opened.tx.client, "late").catch(() => {});
      await (end === "abandon" ? opened.abandon() : opened.finish(dead()));
      await late;
      await given.database.query(`delete from ${given.database.table("deliveries")}`);
    }
    assert.deepEqual(await given.notes(), []);
  },

  "abandon does not wait for a statement that runs on": async (given) => {
    const held = await given.held({ leaseMs: 1 });
    const opened = await given.acknowledge(held);
    await given.note(opened.tx.client, "work");
    const sleeping = assert.rejects(given.database.execute(opened.tx.client, given.database.sleep!));
    await takeTime(20); // so that it is on the server; it must be cut off either way
    await opened.abandon();
    await given.claimOne({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    await sleeping;
    assert.deepEqual(await given.notes(), []);
  },

  "within a transaction that commits": async (given) => {
    const held = await given.held();
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "caller");
      const opened = await given.acknowledge(held, tx);
      await given.note(opened.tx.client, "work");
      assert.equal(await opened.finish(succeeded), "applied");
    });
    assert.equal((await given.row()).status, "succeeded");
    assert.deepEqual(await given.notes(), ["caller", "work"]);
  },

  "within a transaction that is rolled back everything is as it was": async (given) => {
    const held = await given.held();
    const before = await given.row();
    for (const settlement of [succeeded, retryIn(0), dead()]) {
      await assert.rejects(
        given.storage.transaction(async (tx) => {
          const opened = await given.acknowledge(held, tx);
          await given.note(opened.tx.client, "work");
          assert.equal(await opened.finish(settlement), "applied");
          throw new Error("undo");
        }),
        /undo/,
      );
    }
    assert.deepEqual(await given.row(), before);
    assert.deepEqual(await given.notes(), []);
  },

  "within a transaction a failure undoes the work and not the caller's": async (given) => {
    const held = await given.held();
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "caller");
      const opened = await given.acknowledge(held, tx);
      await given.note(opened.tx.client, "work");
      assert.equal(await opened.finish(dead()), "applied");
      await given.note(tx.client, "caller again");
    });
    assert.equal((await given.row()).status, "dead");
    assert.deepEqual(await given.notes(), ["caller", "caller again"]);
  },

  "within a transaction a failed statement spoils the work and not the caller's": async (given) => {
    const held = await given.held();
    await given.storage.transaction(async (tx) => {
      const opened = await given.acknowledge(held, tx);
      await fail(given, opened.tx.client);
      await assert.rejects(opened.finish(succeeded), WorkFailed);
      assert.equal(await opened.finish(dead()), "applied");
      await given.note(tx.client, "caller");
    });
    assert.equal((await given.row()).status, "dead");
    assert.deepEqual(await given.notes(), ["caller"]);
  },

  "within a transaction it can be abandoned": async (given) => {
    const held = await given.held();
    await given.storage.transaction(async (tx) => {
      const opened = await given.acknowledge(held, tx);
      await given.note(opened.tx.client, "work");
      await opened.abandon();
      await given.note(tx.client, "caller");
    });
    assert.equal((await given.row()).status, "claimed");
    assert.deepEqual(await given.notes(), ["caller"]);
  },

  "within a transaction several one after the other": async (given) => {
    await given.fireMany(3);
    await given.storage.transaction(async (tx) => {
      for (const each of await given.claim({ within: tx })) {
        const opened = await given.acknowledge(each, tx);
        assert.equal(await opened.finish(succeeded), "applied");
      }
    });
    assert.deepEqual((await given.rows()).map((row) => row.status), ["succeeded", "succeeded", "succeeded"]);
  },

  "within a transaction a lost claim opens nothing": async (given) => {
    const { fence } = await given.held({ leaseMs: 1 });
    await given.claimOne({ worker: "worker-b", now: given.later(60_000) });
    await given.storage.transaction(async (tx) => {
      assert.equal(await given.storage.acknowledge(fence, { timeoutMs: 30_000 }, tx), null);
      await given.note(tx.client, "caller");
    });
    assert.deepEqual(await given.notes(), ["caller"]);
  },
};
