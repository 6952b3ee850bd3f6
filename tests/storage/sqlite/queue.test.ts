import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { range } from "../../suite/storage/samples.ts";
import { takeTime } from "../../support/wait_for.ts";
import { claim, fire, GivenFile, longestBlock } from "./given.ts";

describe("libSQL: the queue", () => {
  it("serves first who came first", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    const served: number[] = [];
    await Promise.all(
      range(20).map((n) =>
        storage.transaction(async () => {
          served.push(n);
          await takeTime(1);
        })
      ),
    );
    assert.deepEqual(served, range(20));
  });

  it("is one for all clients of a file in the process: nobody meets a busy database", async () => {
    await using given = await GivenFile.migrated();
    const [one, other] = [given.storage(), given.storage()];
    const served: string[] = [];
    const long = one.transaction(async (tx) => {
      await (tx.client as { execute(sql: string): Promise<unknown> }).execute("create table notes (note)");
      await takeTime(100);
      served.push("first");
    });
    await takeTime(10);
    const block = await longestBlock(() => other.transaction(() => Promise.resolve(served.push("second"))));
    await long;
    assert.deepEqual(served, ["first", "second"]);
    assert.ok(block < 80, `waited inside SQLite for ${block} ms`);
  });

  it("lets reads by while a transaction is open", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage);
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 30_000 });
    assert.equal((await storage.health()).owed, 1);
    assert.deepEqual(await claim(storage), [], "a poll that finds nothing does not ask for the lock");
    await opened!.finish({ kind: "succeeded" });
    assert.equal((await storage.health()).owed, 0);
  });

  it("lets reads wait for a transaction that has the client's only connection", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage(given.client({ concurrency: 1 }));
    await fire(storage);
    const long = storage.transaction(() => takeTime(100));
    await takeTime(10);
    assert.equal((await storage.health()).owed, 1);
    await long;
  });

  it("passes on what the work of a transaction throws, whatever it looks like", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    const error = Object.assign(new TypeError("fetch failed"), { code: "ECONNREFUSED" });
    await assert.rejects(storage.transaction(() => Promise.reject(error)), (thrown) => thrown === error);
  });

  it("is held for the time of somebody else's transaction, and free after a failure", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client();
    const storage = given.storage(client);
    const order: string[] = [];
    const yielded = storage.yielding(async () => {
      const tx = await client.transaction("write");
      await takeTime(50);
      await tx.commit();
      order.push("theirs");
      throw new Error("after the commit");
    });
    const ours = fire(storage).then(() => order.push("ours"));
    await assert.rejects(yielded, /after the commit/);
    await ours;
    assert.deepEqual(order, ["theirs", "ours"]);
  });

  it("refuses a task that would wait for itself, and not what it has left in the background", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    let later: Promise<void> | undefined;
    await storage.transaction(async () => {
      await assert.rejects(fire(storage), /would wait for itself/);
      later = takeTime(20).then(() => fire(storage));
    });
    await later;
    assert.equal((await claim(storage)).length, 1);
  });
});
