import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { exitOf, kinds, place, runs } from "./place.ts";

const leased = { JOURNEY_LEASE_MS: "1000" };

for (const kind of kinds) {
  describe(`a relay that dies on ${kind}`, () => {
    it("kill -9 in the middle of a delivery: another relay pays, and the effect is there once", async () => {
      await using here = await place(kind);
      await here.work(3);
      await using victim = here.relay({ env: { ...leased, JOURNEY_HOLDS: "1" } });
      await victim.line("holding reserve");
      victim.kill("SIGKILL");
      await victim.exited;
      await using heir = here.relay({ env: leased });
      await here.all("reserve", "succeeded");
      await here.all("mail", "succeeded");
      const effects = await here.query("select n from effects order by n");
      assert.deepEqual(effects.map(({ n }) => n), [0, 1, 2]);
      heir.kill("SIGTERM");
      assert.deepEqual(await exitOf(heir), { code: 0, signal: null });
    });

    it("a receiver that kills its process every time ends dead, and takes nobody along", async () => {
      await using here = await place(kind);
      await here.work(5);
      await here.poison();
      await here.work(5);
      let deaths = 0;
      while ((await here.rows("kill"))[0]?.status !== "dead") {
        assert.ok(deaths < 5, "It kills no more often than its lapses allow");
        await using relay = here.relay({ env: { JOURNEY_LEASE_MS: "500" } });
        const died = relay.exited.then(() => true);
        const ended = here.all("kill", "dead").then(() => false, () => false);
        if (!await Promise.race([died, ended])) break;
        deaths++;
      }
      const [killer] = await here.rows("kill");
      assert.match(killer?.lastError ?? "", /lapse|outcome|lease/i);
      assert.equal(killer?.attempts, 0, "No attempt is recorded that did not end");
      assert.equal(deaths, 3, "maxLapses is 2: the third claim that lapses is the last");
      await using last = here.relay({ env: leased });
      for (const receiver of ["reserve", "mail"]) await here.all(receiver, "succeeded");
      assert.equal((await here.query("select n from effects")).length, 10);
      assert.equal(runs(last).filter((run) => run.startsWith("kill")).length, 0);
    });
  });
}
