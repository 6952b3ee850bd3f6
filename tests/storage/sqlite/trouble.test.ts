import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { describe, it } from "node:test";
import { createClient } from "@libsql/client";
import { DatabaseUnreachable, MigrationsMissing } from "../../../src/errors.ts";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import { startHrana } from "../../support/hrana_server.ts";
import { claim, fire, GivenFile } from "./given.ts";

describe("libSQL: a database in trouble", () => {
  it("a full one is named, and nothing is lost", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await fire(storage);
    const { rows } = await client.execute("pragma page_count");
    await client.execute(`pragma max_page_count = ${rows[0]!.page_count}`);
    await assert.rejects(fire(storage, 5_000), /Cannot write to the database at .*: it is full .*max_page_count/);
    assert.equal((await storage.health()).owed, 1);
    await client.execute("pragma max_page_count = 100000");
    await fire(storage, 5_000);
    assert.equal((await storage.health()).owed, 5_001);
  });

  it("a receiver's work that fills it is undone, and its failure is recorded", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await client.execute("create table notes (note)");
    await fire(storage);
    const [row] = await claim(storage);
    const { rows } = await client.execute("pragma page_count");
    await client.execute(`pragma max_page_count = ${rows[0]!.page_count}`);
    const opened = await storage.acknowledge(row!.fence, { timeoutMs: 30_000 });
    const tx = opened!.tx.client as { execute(sql: string): Promise<unknown> };
    await assert.rejects(tx.execute("insert into notes select hex(randomblob(1000000))"));
    const answer = await opened!.finish({ kind: "retryAt", delayMs: 0, error: "Error: full" });
    assert.equal(answer, "applied");
    const [delivery] = await storage.findDeliveries({});
    assert.deepEqual([delivery!.status, delivery!.attempts], ["failed", 1]);
    assert.equal((await client.execute("select count(*) as n from notes")).rows[0]!.n, 0);
  });

  it("a read-only one is named, can be read, and nothing is lost", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await fire(storage);
    await client.execute("pragma query_only = 1");
    await assert.rejects(fire(storage), /Cannot write to the database at .*: it is read-only/);
    await assert.rejects(claim(storage), /read-only/);
    assert.equal((await storage.health()).owed, 1);
    await client.execute("pragma query_only = 0");
    assert.equal((await claim(storage)).length, 1);
  });

  it("one that cannot be opened is unreachable", async () => {
    const storage = libsqlStorage(() => createClient({ url: "file:/nowhere/at/all/shop.db" }), {
      address: "file:/nowhere/at/all/shop.db",
    });
    await assert.rejects(storage.health(), (error: Error) => {
      assert.ok(error instanceof DatabaseUnreachable, String(error));
      assert.match(error.message, /\/nowhere\/at\/all\/shop\.db/);
      return true;
    });
    await storage.close();
  });

  it("a file that is no database is named", async () => {
    await using given = new GivenFile();
    writeFileSync(given.file.path, "this is a shopping list, and it is long enough to be read as a header".repeat(20));
    const storage = libsqlStorage(() => createClient({ url: given.file.url }));
    await assert.rejects(storage.health(), /no SQLite database/);
    await storage.close();
  });

  it("one without the schema asks for the migrations", async () => {
    await using given = new GivenFile();
    const storage = given.storage();
    await assert.rejects(storage.health(), MigrationsMissing);
    await assert.rejects(fire(storage), (error: Error) => {
      assert.ok(error instanceof MigrationsMissing, String(error));
      assert.match(error.message, /migration 1 "tables" is missing/);
      return true;
    });
    await assert.rejects(claim(storage), MigrationsMissing);
  });

  it("a server that is gone is unreachable, and one that is back is used again", async () => {
    await using given = new GivenFile();
    const first = await startHrana(given.file.path);
    const client = createClient({ url: first.url });
    const storage = libsqlStorage(client, { address: first.url });
    await storage.migrate();
    await fire(storage);
    await first[Symbol.asyncDispose]();
    await assert.rejects(storage.health(), DatabaseUnreachable);
    await assert.rejects(fire(storage), DatabaseUnreachable);
    await using _ = await startHrana(given.file.path, Number(new URL(first.url).port));
    assert.equal((await claim(storage)).length, 1);
    await storage.close();
    client.close();
  });

  it("refuses a prefix that is no name, and what is no client", () => {
    const client = createClient({ url: ":memory:" });
    for (const prefix of ["", "owed-", 'a"b', "1st_", "sqlite_", "x".repeat(41), "é_"]) {
      assert.throws(() => libsqlStorage(client, { prefix }), TypeError, prefix);
    }
    for (const source of [null, undefined, {}, "file:shop.db", 7]) {
      assert.throws(() => libsqlStorage(source as never), TypeError);
    }
    client.close();
  });

  it("two prefixes share a file and nothing else", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client();
    const [one, other] = [given.storage(client), libsqlStorage(client, { prefix: "shop_" })];
    await other.migrate();
    await fire(one);
    assert.equal((await other.health()).owed, 0);
    assert.equal((await one.health()).owed, 1);
    await other.close();
  });
});
