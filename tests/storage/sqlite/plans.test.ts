import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Client } from "@libsql/client";
import { namesOf } from "../../../src/storage/sqlite/names.ts";
import { statementsFor } from "../../../src/storage/sqlite/statements.ts";
import {
  deliveriesText,
  fencesText,
  idsText,
  receiversText,
  renewalsText,
  settlementsText,
} from "../../../src/storage/sqlite/values.ts";
import { aDebt, range } from "../../suite/storage/samples.ts";
import { claim, fire, GivenFile } from "./given.ts";

const sql = statementsFor(namesOf("owed_"));
const receivers = range(3).map((n) => ({ key: `r${n}`, leaseMs: 60_000 }));
const fence = { id: "1", claimedBy: "worker-a", claimedAt: 1n };

async function plan(client: Client, text: string, args: (string | bigint | null)[]): Promise<string[]> {
  const { rows } = await client.execute({ sql: `explain query plan ${text}`, args });
  return rows.map((row) => String(row.detail));
}

/** Fails when a plan reads a table or an index of ours from end to end, or sorts. */
function assertTargeted(name: string, steps: string[], allowed: RegExp[] = []): void {
  for (const step of steps) {
    const isScan = /\bSCAN\b/.test(step) &&
      !/VIRTUAL TABLE|SCAN \(?subquery|SCAN parts|SCAN keys|SCAN s\b|SCAN counted/.test(step);
    if ((isScan || /TEMP B-TREE FOR (ORDER|GROUP)/.test(step)) && !allowed.some((each) => each.test(step))) {
      assert.fail(`${name}: ${step}\n${steps.join("\n")}`);
    }
  }
}

describe("libSQL: plans", () => {
  it("pitfall 54: each statement reads through an index, on a table of settled rows with and without statistics", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await fire(storage, 5_000, "r0");
    await client.execute("update owed_deliveries set status = 'succeeded', completed_at = 1");
    await fire(storage, 50, "r1");
    const one = receiversText(receivers);
    const debts = deliveriesText([aDebt({ id: "a" }, { target: "b" })]);
    const targets: [string, string, (string | bigint | null)[]][] = [
      ["claim", sql.claim(3), [one, null, 100n, 0n]],
      ["claimIgnoringBackoff", sql.claimIgnoringBackoff(3), [one, null, 100n, 0n]],
      ["leaseDue", sql.leaseDue, ["[1]", null, "worker-a", 1n, 0n]],
      ["leaseIgnoringBackoff", sql.leaseIgnoringBackoff, ["[1]", null, "worker-a", 1n]],
      ["leaseNamed", sql.leaseNamed, ["[1]", null, "worker-a", 1n]],
      ["eventsById", sql.eventsById, ['["a"]']],
      ["settleSucceeded", sql.settleSucceeded, [fencesText([fence]), null]],
      ["settle", sql.settle, [settlementsText([{ fence, settlement: { kind: "released" } }]), null]],
      ["classify", sql.classify, ["[1]"]],
      ["lockFence", sql.lockFence, [1n, "worker-a", 1n]],
      ["renew", sql.renew, [renewalsText([{ fence, leaseMs: 1 }]), null]],
      ["findEvents", sql.findEvents({ name: false, ids: true }), [null, '["a"]']],
      ["findDeliveries", sql.findDeliveries({ eventId: true, receiverKey: true, deliveryId: false }), [
        "a",
        "r1",
        null,
        null,
      ]],
      ["findDeliveries", sql.findDeliveries({ eventId: false, receiverKey: false, deliveryId: true }), [
        null,
        null,
        "1",
        null,
      ]],
      ["take", sql.take, [1n, "worker-a", 1n, "task-a", 1n, null]],
      ["eventOfDelivery", sql.eventOfDelivery, [1n]],
      ["reopen", sql.reopen, [debts, null]],
      ["appendDeliveries", sql.appendDeliveries, [debts, null]],
      ["appendScheduled", sql.appendScheduled, [debts, null]],
      ["appendMissing", sql.appendMissing, [debts, null]],
      ["nextDue", sql.nextDue, ['["r1"]', null]],
      ["retractDeliveries", sql.retractDeliveries, ['["a"]']],
      ["retractEvents", sql.retractEvents, ['["a"]']],
    ];
    for (const statistics of [false, true]) {
      if (statistics) await client.execute("analyze");
      for (const [name, text, args] of targets) {
        // What was named by its id is few, and may be sorted.
        assertTargeted(name, await plan(client, text, args), name.startsWith("find") ? [/ORDER BY/] : []);
      }
      const claims = await plan(client, sql.claim(3), [one, null, 100n, 0n]);
      assert.ok(claims.some((step) => step.startsWith("MERGE")), claims.join("\n"));
      // These may sort: by position what was named, by key what is counted. None reads the settled rows.
      assertTargeted("heads", await plan(client, sql.heads, [one, null, 100n, 0n]), [/ORDER BY|SCAN heads/]);
      assertTargeted("rememberSuccesses", await plan(client, sql.rememberSuccesses, [debts]), [/GROUP BY/]);
      const named = [one, null, idsText(["1"])];
      const byEvent = await plan(client, sql.claimEvents, [one, null, '["a"]']);
      assertTargeted("claimDeliveries", await plan(client, sql.claimDeliveries, named), [/ORDER BY/]);
      assertTargeted("claimEvents", byEvent, [/ORDER BY/]);
      const whole = [/deliveries USING (COVERING )?INDEX owed_deliveries_(owed|ended)/, /TEMP B-TREE/];
      assertTargeted("health", await plan(client, sql.health, [null]), whole);
      assertTargeted("strangers", await plan(client, sql.strangers, ["[]", null, 0n]), whole);
      assertTargeted("releaseUnknown", await plan(client, sql.releaseUnknown, ["worker-a", "[]"]), whole);
    }
  });

  it("a claim costs the same behind a flood, a pile of settled rows and live leases", async () => {
    await using given = await GivenFile.migrated();
    const client = given.client({ concurrency: 1 });
    const storage = given.storage(client);
    await fire(storage, 20_000, "flood");
    await fire(storage, 20_000, "settled");
    await client.execute(
      "update owed_deliveries set status = 'succeeded', completed_at = 1 where receiver_key = 'settled'",
    );
    await fire(storage, 500);
    await claim(storage, 1); // sets everything up
    const began = performance.now();
    for (const _ of range(20)) assert.equal((await claim(storage, 10)).length, 10);
    const each = (performance.now() - began) / 20;
    assert.ok(each < 25, `${each} ms for a claim of ten`);
  });

  it("a hundred receivers are looked at without an arm for each", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    for (const n of [3, 60, 99]) await fire(storage, 2, `r${n}`);
    const many = range(100).map((n) => ({ key: `r${n}`, leaseMs: n + 1_000 }));
    const claimed = await storage.claim({ worker: "w", receivers: many, limit: 5 });
    assert.deepEqual(claimed.map((row) => row.receiverKey), ["r3", "r3", "r60", "r60", "r99"]);
    const [row] = await storage.findDeliveries({ receiverKey: "r60" });
    assert.equal(row!.leasedUntil! - claimed[2]!.claimedNow, 1_060_000n);
    assert.deepEqual(await storage.claim({ worker: "w", receivers: many.slice(0, 50), limit: 5 }), []);
  });

  it("more receivers with work than SQLite takes arms", async () => {
    await using given = await GivenFile.migrated();
    const storage = given.storage();
    for (const n of range(450)) await fire(storage, 1, `r${n}`);
    const many = range(450).map((n) => ({ key: `r${n}`, leaseMs: 1_000 }));
    const first = await storage.claim({ worker: "w", receivers: many, limit: 500 });
    const rest = await storage.claim({ worker: "w", receivers: many, limit: 500 });
    assert.equal(first.length + rest.length, 450);
  });
});
