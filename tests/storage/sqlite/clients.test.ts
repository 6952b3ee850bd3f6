import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient, type Transaction } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { claim, fire, GivenFile } from "./given.ts";

describe("libSQL: clients", () => {
  it("the transaction's type is the driver's", async () => {
    const storage: Storage<Transaction> = libsqlStorage(createClient({ url: ":memory:" }));
    const rows = await storage.transaction(async ({ client }) => (await client.execute("select 1 as one")).rows);
    assert.equal(rows[0]!.one, 1);
    await storage.close();
  });

  it("every integer mode gives the same records", async () => {
    await using given = await GivenFile.migrated();
    await given.client().execute("insert into sqlite_sequence values ('owed_deliveries', 9007199254740993)");
    const seen: unknown[] = [];
    for (const intMode of ["number", "bigint", "string"] as const) {
      const client = createClient({ url: given.file.url, intMode });
      const storage = libsqlStorage(client);
      if (intMode === "number") await fire(storage);
      const [row] = await storage.findDeliveries({});
      const [held] = await claim(storage);
      assert.equal(held!.fence.id, "9007199254740994");
      await storage.settle([{ fence: held!.fence, settlement: { kind: "released" } }]);
      seen.push(
        { ...row, claimedAt: null, claimedBy: null },
        await storage.health(),
        await storage.nextDue(["stock.reserve"]),
      );
      await storage.close();
      client.close();
    }
    assert.deepEqual(seen.slice(0, 3), seen.slice(3, 6));
    assert.deepEqual(seen.slice(0, 3), seen.slice(6));
  });

  it("a factory is called at first use, and its client closed with the storage", async () => {
    await using given = await GivenFile.migrated();
    const made: ReturnType<typeof createClient>[] = [];
    const storage = libsqlStorage(() => {
      made.push(createClient({ url: given.file.url }));
      return made.at(-1)!;
    });
    assert.equal(made.length, 0);
    await fire(storage);
    await storage.health();
    assert.equal(made.length, 1);
    await storage.close();
    assert.equal(made[0]!.closed, true);
  });

  it("a database in memory migrates itself, and runs one receiver at a time; a file does neither", async () => {
    await using given = new GivenFile();
    const client = createClient({ url: ":memory:" });
    const [memory, file] = [libsqlStorage(client), given.storage()];
    await fire(memory);
    assert.deepEqual(await memory.pendingMigrations(), []);
    assert.equal(memory.capabilities.maxConcurrency, 1);
    assert.equal((await file.pendingMigrations()).length, file.migrations.length);
    assert.ok(file.capabilities.maxConcurrency > 1_000);
    await memory.close();
    assert.equal(client.closed, false, "the caller's client stays open");
    client.close();
  });

  it("a file is in write-ahead mode from the first use", async () => {
    await using given = new GivenFile();
    await given.storage().pendingMigrations();
    const { rows } = await given.client().execute("pragma journal_mode");
    assert.equal(rows[0]!.journal_mode, "wal");
  });
});
