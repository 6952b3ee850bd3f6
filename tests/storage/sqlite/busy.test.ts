import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DatabaseUnreachable } from "../../../src/errors.ts";
import { range } from "../../suite/storage/samples.ts";
import { takeTime } from "../../support/wait_for.ts";
import { claim, fire, GivenFile, longestBlock } from "./given.ts";

describe("libSQL: a busy database", () => {
  it("waits for somebody else's transaction without standing still", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    const holder = await given.client().transaction("write");
    setTimeout(() => void holder.commit(), 400);
    const block = await longestBlock(async () => {
      const began = performance.now();
      await fire(storage);
      assert.ok(performance.now() - began > 300);
    });
    assert.ok(block < 150, `the event loop stood still for ${block} ms`);
    assert.equal((await claim(storage)).length, 1);
  });

  it("waits outside SQLite though the client was made with a long busy timeout", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ timeout: 5_000, concurrency: 1 });
    const storage = given.storage(client);
    const holder = await given.client().transaction("write");
    setTimeout(() => void holder.commit(), 400);
    const block = await longestBlock(() => fire(storage));
    assert.ok(block < 150, `the event loop stood still for ${block} ms`);
    const { rows } = await client.execute("pragma busy_timeout");
    assert.equal(rows[0]!.timeout, 5_000, "the caller's setting must be as it was");
  });

  it("leaves the client clean: a hundred transactions of the caller commit afterwards", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client();
    const storage = given.storage(client);
    await client.execute("create table notes (note)");
    const holder = await given.client().transaction("write");
    setTimeout(() => void holder.commit(), 100);
    await Promise.all([fire(storage), storage.announce({ app: "a", release: "1", receivers: ["r"] }), fire(storage)]);
    for (const n of range(100)) {
      const tx = await client.transaction("write");
      await tx.execute({ sql: "insert into notes values (?)", args: [n] });
      await tx.commit();
    }
    assert.equal((await client.execute("select count(*) as n from notes")).rows[0]!.n, 100);
  });

  it("does not break a transaction that the caller has open on the same client", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client();
    const storage = given.storage(client);
    await client.execute("create table notes (note)");
    const theirs = await client.transaction("write");
    await theirs.execute("insert into notes values ('before')");
    const ours = fire(storage);
    await takeTime(100);
    await theirs.execute("insert into notes values ('after')");
    await theirs.commit();
    await ours;
    assert.equal((await client.execute("select count(*) as n from notes")).rows[0]!.n, 2);
    assert.equal((await claim(storage)).length, 1);
  });

  it("works on a connection that the caller's own busy statement has spoilt", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await fire(storage);
    const holder = await given.client().transaction("write");
    await assert.rejects(client.transaction("write"), { code: "SQLITE_BUSY" });
    await holder.commit();
    await fire(storage);
    const opened = await storage.transaction(() => Promise.resolve("committed"));
    assert.equal(opened, "committed");
    assert.equal((await claim(storage)).length, 2);
  });

  it("a spoilt connection shows before the work of a transaction runs, not after", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await storage.health();
    const holder = await given.client().transaction("write");
    await assert.rejects(client.transaction("write"), { code: "SQLITE_BUSY" });
    await holder.commit();
    let runs = 0;
    await storage.transaction(() => Promise.resolve(runs++));
    assert.equal(runs, 1);
  });

  it("a receiver's transaction that cannot be opened for it is the database's fault, and not the receiver's", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    await fire(storage);
    const [row] = await claim(storage);
    const holder = await given.client().transaction("write");
    await assert.rejects(storage.acknowledge(row!.fence, { timeoutMs: 30_000 }), DatabaseUnreachable);
    await holder.rollback();
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 30_000 });
    assert.equal(await opened!.finish({ kind: "succeeded" }), "applied");
  });

  it("gives up after ten seconds with an error that says where to look", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    const holder = await given.client().transaction("write");
    await assert.rejects(fire(storage), (error: Error) => {
      assert.equal(error.name, "DatabaseUnreachable");
      assert.match(
        error.message,
        /Cannot write to the database at .*test\.db: somebody else has held its lock for 10 s/,
      );
      assert.match(error.message, /joining/);
      return true;
    });
    await holder.rollback();
    await fire(storage);
    assert.equal((await claim(storage)).length, 1);
  });
});
