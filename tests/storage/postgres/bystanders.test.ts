import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TransactionSql } from "postgres";
import { WorkFailed } from "../../../src/errors.ts";
import { aDebt, anEvent, retryIn, succeeded } from "../../suite/storage/samples.ts";
import { postgresUrls } from "../../support/databases.ts";
import { takeTime } from "../../support/wait_for.ts";
import { drivers, GivenSchema } from "./given.ts";

for (const { version, url } of postgresUrls()) {
  for (const driver of drivers) {
    describe(`what comes late to a pooled connection, Postgres ${version}, ${driver}`, () => {
      for (const dedupeKey of [null, "once"]) {
        const title = dedupeKey === null ? "one event" : "a batch";
        it(`${title} of a joined transaction that has ended is refused and breaks no bystander`, async () => {
          await using given = await GivenSchema.migrated(url, driver, 1);
          const { storage } = given;
          const tx = await given.begin((client) => Promise.resolve(storage.join(client)));
          const event = anEvent({ dedupeKey });
          const late = () => storage.append(tx, [event], [aDebt(event)]);
          // On the connection while nobody has a transaction on it, and while somebody else has.
          await assert.rejects(late(), { name: "TypeError", message: /the transaction has ended/ });
          await given.begin(async (client) => {
            await given.note(client, "bystander");
            await assert.rejects(late(), { name: "TypeError", message: /the transaction has ended/ });
            const own = anEvent({ dedupeKey: "theirs" });
            await storage.append(storage.join(client), [own], [aDebt(own)]);
          });
          assert.deepEqual(await given.notes(), ["bystander"]);
          const stored = await storage.findEvents({});
          assert.deepEqual(stored.map(({ id }) => id === event.id), [false]);
          assert.equal((await storage.findDeliveries({})).length, 1);
        });
      }

      it("a doom of a joined transaction that has ended breaks no bystander", async () => {
        await using given = await GivenSchema.migrated(url, driver, 1);
        const tx = await given.begin((client) => Promise.resolve(given.storage.join(client)));
        await given.begin(async (client) => {
          await given.note(client, "bystander");
          await tx.doom();
        });
        assert.deepEqual(await given.notes(), ["bystander"]);
      });
    });
  }
}

for (const { version, url } of postgresUrls()) {
  describe(`a savepoint of the driver that nobody awaited, Postgres ${version}`, () => {
    /** A savepoint that is open, and goes on when told to. */
    function left(client: unknown) {
      const { promise: begun, resolve: begin } = Promise.withResolvers<void>();
      const { promise: goOn, resolve: end } = Promise.withResolvers<void>();
      const nested = async (inner: TransactionSql) => {
        await inner`select 1`;
        begin();
        await goOn;
        await inner`select 2`;
      };
      const savepoint: Promise<unknown> = (client as TransactionSql).savepoint((outer) => outer.savepoint(nested));
      savepoint.catch(() => {});
      return { begun, end };
    }

    async function bystander(given: GivenSchema, meanwhile: () => void): Promise<void> {
      await given.storage.transaction(async (tx) => {
        await given.note(tx.client, "bystander");
        meanwhile();
        // What strays onto the connection now would have come before this.
        await takeTime(20);
        await given.say(tx.client, "select 1");
      });
    }

    it("is waited for, and the success of its receiver is not recorded without it", async () => {
      await using given = await GivenSchema.migrated(url, "postgres.js", 1);
      await given.fire();
      const [held] = await given.claim();
      const opened = await given.storage.acknowledge(held!.fence, { timeoutMs: 30_000 });
      await given.note(opened!.tx.client, "work");
      const { begun, end } = left(opened!.tx.client);
      await begun;
      const finished = opened!.finish(succeeded);
      end();
      await assert.rejects(finished, (error: Error) => {
        assert.ok(error instanceof WorkFailed);
        assert.match(String(error.cause), /its receiver has returned/);
        return true;
      });
      assert.equal(await opened!.finish(retryIn(0)), "applied");
      await bystander(given, () => {});
      assert.deepEqual(await given.notes(), ["bystander"]);
    });

    for (const way of ["finished", "abandoned"] as const) {
      it(`undoes nothing of the next transaction when it ends late, its receiver's being ${way}`, async () => {
        await using given = await GivenSchema.migrated(url, "postgres.js", 1);
        await given.fire();
        const [held] = await given.claim();
        const opened = await given.storage.acknowledge(held!.fence, { timeoutMs: 30_000 });
        const { begun, end } = left(opened!.tx.client);
        await begun;
        if (way === "abandoned") await opened!.abandon();
        else {
          await assert.rejects(opened!.finish(succeeded), WorkFailed);
          assert.equal(await opened!.finish(retryIn(0)), "applied");
        }
        await bystander(given, end);
        assert.deepEqual(await given.notes(), ["bystander"]);
      });
    }

    it("keeps a transaction of the storage's own from committing without it", async () => {
      await using given = await GivenSchema.migrated(url, "postgres.js", 1);
      let end = () => {};
      const change = given.storage.transaction(async (tx) => {
        await given.note(tx.client, "work");
        const savepoint = left(tx.client);
        end = savepoint.end;
        await savepoint.begun;
      });
      await assert.rejects(change, { name: "TypeError", message: /neither awaited nor ended/ });
      await bystander(given, end);
      assert.deepEqual(await given.notes(), ["bystander"]);
    });

    it("is kept when its work was done in time", async () => {
      await using given = await GivenSchema.migrated(url, "postgres.js", 1);
      await given.storage.transaction(async (tx) => {
        const { promise: done, resolve } = Promise.withResolvers<void>();
        void (tx.client as TransactionSql).savepoint(async (inner) => {
          await given.note(inner, "kept");
          resolve();
        });
        await done;
      });
      assert.deepEqual(await given.notes(), ["kept"]);
    });

    it("does not change what an awaited one gives: queries in an array are waited for", async () => {
      await using given = await GivenSchema.migrated(url, "postgres.js", 1);
      const rows = await given.storage.transaction((tx) =>
        (tx.client as TransactionSql).savepoint((inner) => [inner`select 1 as one`, inner`select 2 as two`])
      );
      assert.deepEqual(rows.map((row) => [...row]), [[{ one: 1 }], [{ two: 2 }]]);
    });
  });
}
