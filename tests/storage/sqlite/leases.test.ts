import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { takeTime } from "../../support/wait_for.ts";
import { claim, fire, GivenFile } from "./given.ts";

describe("libSQL: leases of this process", () => {
  it("are renewed with the commit of a receiver's transaction that outlived them", async () => {
    await using given = await GivenFile.migrated();
    const [storage, thief] = [given.storage(), given.storage()];
    await fire(storage, 2);
    const [one, other] = await claim(storage, 2, 300);
    const opened = await storage.acknowledge(one!.fence, { timeoutMs: 30_000 });
    const stolen = claim(thief, 2, 60_000);
    await takeTime(500);
    assert.equal(await opened!.finish({ kind: "succeeded" }), "applied");
    assert.deepEqual(await stolen, []);
    const [answer] = await storage.settle([{ fence: other!.fence, settlement: { kind: "succeeded" } }]);
    assert.equal(answer, "applied");
  });

  it("are renewed for whoever asked and had to wait for a transaction", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage, 1, 200);
    const long = storage.transaction(() => takeTime(400));
    await takeTime(50);
    const asked = storage.renew([{ fence: row!.fence, leaseMs: 200 }]);
    await long;
    assert.deepEqual([...await asked], [row!.fence.id]);
  });

  it("are renewed where they were taken over, and no more where they were taken from", async () => {
    await using given = await GivenFile.migrated();
    const [relay, task] = [given.storage(), given.storage()];
    await fire(relay);
    const [row] = await claim(relay, 1, 300);
    const taken = await task.take({ fence: row!.fence, worker: "task", leaseMs: 300 });
    const long = task.transaction(() => takeTime(400));
    await long;
    assert.deepEqual(await claim(relay, 1), []);
    const [answer] = await task.settle([{ fence: taken!.fence, settlement: { kind: "succeeded" } }]);
    assert.equal(answer, "applied");
  });

  it("of a holder that has gone quiet are left to lapse", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    await claim(storage, 1, 100);
    await takeTime(250);
    await storage.announce({ app: "a", release: "1", receivers: ["r"] });
    const [again] = await claim(storage, 1);
    assert.equal(again!.lapses, 1);
  });

  it("are not renewed once settled, given back or lost", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage, 1, 300);
    await storage.settle([{ fence: row!.fence, settlement: { kind: "released" } }]);
    await takeTime(150);
    await storage.announce({ app: "a", release: "1", receivers: ["r"] });
    const [delivery] = await storage.findDeliveries({});
    assert.equal(delivery!.leasedUntil, null);
  });
});

describe("libSQL: a receiver's transaction", () => {
  it("that hangs is rolled back, says so, and its failure can still be recorded", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage);
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 50 });
    const client = opened!.tx.client as { execute(sql: string): Promise<unknown> };
    await client.execute("create table notes (note)");
    await fire(storage); // waits until the file is free
    await assert.rejects(async () => await client.execute("select 1"), /rolled back after 1050 ms/);
    await assert.rejects(opened!.finish({ kind: "succeeded" }), { name: "WorkFailed" });
    const answer = await opened!.finish({ kind: "retryAt", delayMs: 0, error: "Error: hung" });
    assert.equal(answer, "applied");
    const [delivery] = await storage.findDeliveries({});
    assert.deepEqual([delivery!.status, delivery!.attempts], ["failed", 1]);
  });

  it("cannot be ended by the receiver", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage);
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 30_000 });
    const client = opened!.tx.client as { commit(): unknown; rollback(): unknown; close(): unknown };
    for (const end of ["commit", "rollback", "close"] as const) {
      assert.throws(() => client[end](), /the outbox ends it/);
    }
    assert.equal(await opened!.finish({ kind: "succeeded" }), "applied");
  });

  it("fails by a constraint that is checked at its commit", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client();
    const storage = given.storage(client);
    await client.executeMultiple(
      "create table parents (id integer primary key); " +
        "create table children (parent integer references parents deferrable initially deferred)",
    );
    await fire(storage);
    const [row] = await claim(storage);
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 30_000 });
    await (opened!.tx.client as { execute(sql: string): Promise<unknown> }).execute("insert into children values (1)");
    await assert.rejects(opened!.finish({ kind: "succeeded" }), { name: "WorkFailed" });
    assert.equal(await opened!.finish({ kind: "dead", error: "Error: no parent", counted: true }), "applied");
    assert.equal((await client.execute("select count(*) as n from children")).rows[0]!.n, 0);
    assert.equal((await storage.findDeliveries({}))[0]!.status, "dead");
  });
});
