import assert from "node:assert/strict";
import { it } from "node:test";
import { waitFor } from "../support/wait_for.ts";
import { exitOf, place, runs } from "./place.ts";

it("a relay survives its Postgres backends being terminated under load", async () => {
  await using here = await place("Postgres");
  await using relay = here.relay({
    env: { JOURNEY_TAKES_MS: "10", JOURNEY_LEASE_MS: "1000", JOURNEY_MAX_LAPSES: "20" },
  });
  await relay.line("the relay is ready");
  await here.work(200);
  for (const ran of [20, 60, 100]) {
    await waitFor(() => runs(relay).length >= ran, { what: `${ran} deliveries to run` });
    await here.query(
      "select pg_terminate_backend(pid) from pg_stat_activity " +
        "where datname = current_database() and application_name = 'owed relay'",
    );
  }
  await here.all("reserve", "succeeded", 30_000);
  await here.all("mail", "succeeded", 30_000);
  const effects = await here.query("select n from effects order by n");
  assert.deepEqual(effects.map(({ n }) => n), Array.from({ length: 200 }, (_, n) => n), "Each effect is there once");
  relay.kill("SIGTERM");
  assert.deepEqual(await exitOf(relay), { code: 0, signal: null });
});
