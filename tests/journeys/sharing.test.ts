import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Runtime, thisRuntime } from "../support/processes.ts";
import { waitFor } from "../support/wait_for.ts";
import { exitOf, type Kind, kinds, place, runs } from "./place.ts";

/** Two relays on one database pay all the work; no claim is run twice, and both do a part. */
async function share(kind: Kind, runtimes: readonly [Runtime, Runtime]): Promise<void> {
  await using here = await place(kind);
  const options = { args: ["--batch-size", "5"], env: { JOURNEY_TAKES_MS: "4" } };
  await using one = here.relay({ ...options, runtime: runtimes[0] });
  await using two = here.relay({ ...options, runtime: runtimes[1] });
  await Promise.all([one.line("the relay is ready"), two.line("the relay is ready")]);
  let pieces = 0;
  // One that polls could come when a single load of work is done: there is more until both have had some.
  await waitFor(async () => {
    if (pieces >= 150 && runs(one).length > 0 && runs(two).length > 0) return true;
    await here.work(50);
    pieces += 50;
    return false;
  }, { what: "each relay to do a part" });
  await here.all("reserve", "succeeded", 30_000);
  await here.all("mail", "succeeded", 30_000);
  for (const relay of [one, two]) relay.kill("SIGTERM");
  for (const relay of [one, two]) assert.deepEqual(await exitOf(relay), { code: 0, signal: null });

  const all = runs(one, two);
  assert.equal(new Set(all).size, 2 * pieces, "Every delivery ran");
  assert.equal(all.length, 2 * pieces, "None ran twice");
  assert.equal((await here.query("select n from effects")).length, pieces);
}

for (const kind of kinds) {
  describe(`two relays on one ${kind} database`, () => {
    it("share the work and run no claim twice", () => share(kind, [thisRuntime, thisRuntime]));
    // Once is enough for the mixture.
    if (thisRuntime === "deno") it("one under Deno and one under Bun", () => share(kind, ["deno", "bun"]));
  });
}
