import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { released } from "../../suite/storage/samples.ts";
import { postgresUrls } from "../../support/databases.ts";
import { waitFor } from "../../support/wait_for.ts";
import { GivenSchema } from "./given.ts";

for (const { version, url } of postgresUrls()) {
  describe(`rows that receivers' transactions hold past their lease, Postgres ${version}`, () => {
    for (const others of [0, 1, 20, 70]) {
      it(`hide nothing behind them from a claim of one row, with ${others + 1} receivers`, async () => {
        await using given = await GivenSchema.migrated(url, "postgres.js", 14);
        const { storage } = given;
        const keys = ["stock.reserve", ...Array.from({ length: others }, (_, n) => `other.${n}`)];
        await given.fire(8);
        const held = await given.claim(8, 1);
        const opened = await Promise.all(held.map(({ fence }) => storage.acknowledge(fence, { timeoutMs: 30_000 })));
        const lapsed = async () => (await storage.health()).lapsed === 8;
        await waitFor(lapsed, { what: "the leases to lapse" });

        assert.deepEqual(await given.claim(1, 60_000, keys), []);
        assert.equal(await storage.nextDue(keys), null, "nobody can have the rows that are locked");
        const [behind] = await given.fire();
        assert.equal(await storage.nextDue(keys), 0);
        const claimed = await given.claim(1, 60_000, keys);
        assert.deepEqual(claimed.map(({ event }) => event.id), [behind!.id]);

        await opened.pop()!.abandon();
        assert.equal(await storage.nextDue(keys), 0, "a row that has lapsed and is free is due");
        for (const one of opened) await one!.finish(released);
      });
    }
  });
}
