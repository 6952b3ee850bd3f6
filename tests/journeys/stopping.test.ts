import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { waitFor } from "../support/wait_for.ts";
import { exitOf, kinds, place, runs } from "./place.ts";

for (const kind of kinds) {
  describe(`stopping a relay on ${kind}`, () => {
    it("the first SIGTERM under load finishes what runs, hands back the rest and exits with 0", async () => {
      await using here = await place(kind);
      await using relay = here.relay({ args: ["--concurrency", "4", "--json"], env: { JOURNEY_TAKES_MS: "30" } });
      await relay.line("the relay is ready");
      await here.work(200);
      await waitFor(() => runs(relay).length >= 20, { what: "20 deliveries to run" });
      relay.kill("SIGTERM");
      assert.deepEqual(await exitOf(relay), { code: 0, signal: null });

      const rows = [...await here.rows("reserve"), ...await here.rows("mail")];
      const statuses = new Set(rows.map(({ status }) => status));
      assert.deepEqual([...statuses].sort(), ["pending", "succeeded"], "No row is left under a lease");
      const succeeded = rows.filter(({ status }) => status === "succeeded").length;
      assert.equal(runs(relay).length, succeeded, "What ran was recorded");
      assert.equal(JSON.parse(relay.stdout.at(-1)!).succeeded, succeeded, "The count is printed");
      assert.ok(succeeded < 400, "There was a rest");

      await using next = here.relay({ args: ["--once", "--json"] });
      assert.deepEqual(await exitOf(next), { code: 0, signal: null });
      assert.equal(JSON.parse(next.stdout.at(-1)!).succeeded, 400 - succeeded, "The rest can be claimed at once");
    });

    it("a second signal exits at once with 128 + signal; the row comes back by its lease", async () => {
      await using here = await place(kind);
      await here.work(1);
      const env = { JOURNEY_HOLDS: "1", JOURNEY_LEASE_MS: "2000" };
      await using relay = here.relay({ env });
      await relay.line("holding reserve");
      relay.kill("SIGINT");
      await relay.line("stopping at");
      relay.kill("SIGTERM");
      assert.deepEqual(await exitOf(relay), { code: 143, signal: null });
      const [row] = await here.rows("reserve");
      assert.equal(row?.status, "claimed", "Nothing was recorded");
      assert.equal(row?.attempts, 0);
      assert.deepEqual(await here.query("select * from effects"), [], "The receiver's work was rolled back");

      await using next = here.relay({ env: { JOURNEY_LEASE_MS: "2000" } });
      await here.all("reserve", "succeeded");
      assert.equal((await here.rows("reserve"))[0]?.lapses, 1);
      assert.equal((await here.query("select * from effects")).length, 1);
      next.kill("SIGINT");
      assert.deepEqual(await exitOf(next), { code: 0, signal: null });
    });

    it("--grace ends what does not finish, and the attempt does not count", async () => {
      await using here = await place(kind);
      await here.work(1);
      await using relay = here.relay({ args: ["--grace", "200ms"], env: { JOURNEY_HOLDS: "1" } });
      await relay.line("holding reserve");
      relay.kill("SIGTERM");
      assert.deepEqual(await exitOf(relay), { code: 0, signal: null });
      const [row] = await here.rows("reserve");
      assert.equal(row?.status, "pending");
      assert.equal(row?.attempts, 0);
      assert.deepEqual(await here.query("select * from effects"), []);
    });
  });
}
