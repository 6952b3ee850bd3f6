import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DatabaseUnreachable } from "../../../src/errors.ts";
import { retryIn, succeeded } from "../../suite/storage/samples.ts";
import { postgresUrls } from "../../support/databases.ts";
import { drivers, GivenSchema } from "./given.ts";

for (const { version, url } of postgresUrls()) {
  describe(`refusals of the server, Postgres ${version}`, () => {
    for (const driver of drivers) {
      it(`a receiver's transaction that a standby refuses is the database's fault, ${driver}`, async () => {
        await using given = await GivenSchema.migrated(url, driver, 1);
        const { storage } = given;
        await given.fire();
        const [held] = await given.claim();
        await given.begin((client) => given.say(client, "set default_transaction_read_only = on"));
        await assert.rejects(storage.acknowledge(held!.fence, { timeoutMs: 30_000 }), (error: Error) => {
          assert.ok(error instanceof DatabaseUnreachable);
          assert.match(error.message, /^Cannot open a receiver's transaction: .* refuses it at the moment \(25006\)$/);
          return true;
        });
        await given.begin((client) => given.say(client, "set default_transaction_read_only = off"));
        const opened = await storage.acknowledge(held!.fence, { timeoutMs: 30_000 });
        assert.equal(await opened!.finish(succeeded), "applied");
      });
    }

    it("a receiver's transaction keeps the shorter timeouts that the user has set", async () => {
      await using given = await GivenSchema.migrated(url, "pg", 1);
      const { storage } = given;
      const names = ["idle_in_transaction_session_timeout", "statement_timeout"];
      for (const [set, expected] of [["0", "30s"], ["1500ms", "1500ms"], ["5s", "5s"], ["2min", "30s"]] as const) {
        for (const name of names) await given.begin((client) => given.say(client, `set ${name} = '${set}'`));
        await given.fire();
        const [held] = await given.claim();
        const opened = await storage.acknowledge(held!.fence, { timeoutMs: 30_000 });
        for (const name of names) {
          const insert = `insert into ${given.table("notes")} values (current_setting('${name}'))`;
          await given.say(opened!.tx.client, insert);
        }
        assert.equal(await opened!.finish(succeeded), "applied");
        assert.deepEqual(await given.notes(), [expected, expected], set);
        await given.query(`delete from ${given.table("notes")}`);
      }
    });

    it("an outcome that is refused for another reason than its letters keeps its letters", async () => {
      await using given = await GivenSchema.migrated(url, "postgres.js");
      const { storage } = given;
      await given.fire(3);
      const held = await given.claim();
      await given.query(`
        create function ${given.table("refuse")}() returns trigger language plpgsql as
          $$ begin raise exception 'not now' using errcode = 'P0001'; end $$;
        create trigger refuse before update on ${given.table("deliveries")} for each row
          when (new.last_error like '%é%') execute function ${given.table("refuse")}()`);
      const settlements = held.map(({ fence }, n) => ({
        fence,
        settlement: retryIn(0, n === 1 ? "Error: é" : "Error"),
      }));
      await assert.rejects(storage.settle(settlements), { code: "P0001" });
      await given.query(`drop trigger refuse on ${given.table("deliveries")}`);
      assert.deepEqual(await storage.settle(settlements), ["already", "applied", "already"]);
      const errors = (await storage.findDeliveries({})).map(({ lastError }) => lastError);
      assert.deepEqual(errors, ["Error", "Error: é", "Error"]);
    });
  });
}
