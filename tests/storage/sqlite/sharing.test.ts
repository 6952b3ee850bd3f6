import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { aDebt, anEvent, range } from "../../suite/storage/samples.ts";
import { startProcess } from "../../support/processes.ts";
import { GivenFile } from "./given.ts";

describe("libSQL: several processes on one file", () => {
  it("share two thousand rows and never run one claim twice, while a third fires them", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    const script = new URL("./claimer.ts", import.meta.url);
    await using one = startProcess(script, { args: [given.file.url, "one"] });
    await using other = startProcess(script, { args: [given.file.url, "other"] });
    await Promise.all([one.line("ready"), other.line("ready")]);
    for (const _ of range(40)) {
      const events = range(50).map(() => anEvent());
      const debts = events.map((event, i) => aDebt(event, { receiverKey: "abc"[i % 3]! }));
      await storage.transaction((tx) => storage.append(tx, events, debts));
    }
    const claimed: string[][] = [];
    for (const process of [one, other]) {
      const line = await process.line("claimed ", { timeoutMs: 60_000 });
      claimed.push(JSON.parse(line.slice("claimed ".length)));
      assert.deepEqual(process.stdout.filter((each) => each.startsWith("answered")), []);
    }
    const all = claimed.flat();
    assert.equal(new Set(all).size, all.length, "a row was claimed twice");
    assert.equal(all.length, 2_000);
    assert.ok(claimed.every((ids) => ids.length > 100), `shared ${claimed.map((ids) => ids.length)}`);
    const rows = await storage.findDeliveries({});
    assert.ok(rows.every((row) => row.status === "succeeded" && row.attempts === 1 && row.lapses === 0));
  });

  it("ten that migrate at once apply each step once", async () => {
    await using given = new GivenFile();
    const script = new URL("./migrator.ts", import.meta.url);
    await using processes = new AsyncDisposableStack();
    const started = range(10).map(() => processes.use(startProcess(script, { args: [given.file.url] })));
    const lines = await Promise.all(started.map((each) => each.line("applied ", { timeoutMs: 60_000 })));
    assert.deepEqual(lines.sort(), [...range(9).map(() => "applied 0"), "applied 1"]);
    await Promise.all(started.map(async (each) => assert.deepEqual(await each.exited, { code: 0, signal: null })));
  });
});
