import assert from "node:assert/strict";
import type { Storage } from "../../../src/storage/storage.ts";
import { all, type Cases, type Given, idsOf } from "./given.ts";
import { aDebt, anEvent, inOrder, range, released, retryIn, succeeded } from "./samples.ts";

/** Claims until nothing is left, and gives every id that was claimed, as often as it was. */
async function claimAll(given: Given, by: Storage, worker: string, limit = 37): Promise<string[]> {
  const ids: string[] = [];
  while (true) {
    const claimed = await given.claim({ by, worker, limit });
    if (claimed.length === 0) return ids;
    ids.push(...idsOf(claimed));
  }
}

export const claimRaceCases: Cases = {
  "two workers never take the same row": async (given) => {
    await given.fireMany(3);
    const first = await given.claim({ limit: 2 });
    const second = await given.claim({ worker: "worker-b" });
    assert.equal(first.length + second.length, 3);
    assert.equal(new Set([...idsOf(first), ...idsOf(second)]).size, 3);
  },

  "claims of one process that overlap share a thousand rows": async (given) => {
    await given.fireMany(1_000);
    const claimed = await Promise.all(range(4).map((n) => claimAll(given, given.storage, `worker-${n}`)));
    assert.deepEqual(inOrder(claimed.flat()), (await given.rows()).map((row) => row.id));
  },

  "claims over two connections share a thousand rows": async (given) => {
    await given.fireMany(1_000);
    const stores = [given.storage, given.second, given.storage, given.second];
    const claimed = await Promise.all(stores.map((by, n) => claimAll(given, by, `worker-${n}`)));
    assert.deepEqual(inOrder(claimed.flat()), (await given.rows()).map((row) => row.id));
  },

  "claims that overlap each find a row while there are enough": async (given) => {
    await given.fireMany(10);
    const claimed = await Promise.all(range(10).map((n) => given.claim({ limit: 1, worker: `worker-${n}` })));
    assert.deepEqual(claimed.map((each) => each.length), range(10).map(() => 1));
  },

  "of a lapsed row's holder and its thief one wins": async (given) => {
    await given.fireMany(200);
    const claimed = await given.claim({ limit: 200, leaseMs: 1_000 });
    const lapsed = given.later(1_000);
    const halves = [claimed.slice(0, 100), claimed.slice(100)];
    const [first, second, ...stolen] = await Promise.all([
      given.storage.settle(all(halves[0]!, succeeded), lapsed),
      given.storage.settle(all(halves[1]!, retryIn(60_000)), lapsed),
      ...range(4).map(() => given.claim({ by: given.second, worker: "worker-b", now: lapsed, limit: 50 })),
    ]);
    const answers = [...first, ...second];
    const kept = claimed.filter((_, i) => answers[i] === "applied").map(({ fence }) => fence.id);
    const taken = stolen.flatMap(idsOf);
    assert.equal(new Set([...kept, ...taken]).size, kept.length + taken.length);
    for (const row of await given.rows(lapsed)) {
      const expected = kept.includes(row.id)
        ? ["succeeded", "failed"]
        : taken.includes(row.id)
        ? ["claimed"]
        : ["pending"];
      assert.ok(expected.includes(row.status), `${row.id} is ${row.status}, not ${expected}`);
    }
  },

  "rows that are handed back while others claim are taken once each": async (given) => {
    await given.fireMany(100);
    const held = await given.claim();
    const [answers, ...taken] = await Promise.all([
      given.storage.settle(all(held, released), given.now),
      ...range(5).map(() => given.claim({ by: given.second, worker: "worker-b" })),
    ]);
    assert.deepEqual(new Set(answers), new Set(["applied"]));
    const rest = await given.claim({ worker: "worker-c" });
    assert.deepEqual(inOrder([...taken.flatMap(idsOf), ...idsOf(rest)]), inOrder(idsOf(held)));
  },

  "a late commit with a lower id is found": async (given) => {
    const [early, late] = [anEvent(), anEvent()];
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [early], [aDebt(early)], given.now);
      await given.second.transaction((other) => given.second.append(other, [late], [aDebt(late)], given.now));
      assert.equal((await given.claimOne({ by: given.second })).event.id, late.id);
    });
    const [first, second] = await given.rows();
    assert.deepEqual([first!.eventId, second!.eventId], [early.id, late.id]);
    assert.equal((await given.claimOne()).event.id, early.id);
  },

  "passes by rows that a transaction has locked": async (given) => {
    await given.fireMany(3);
    const held = await given.claim({ limit: 1, leaseMs: 1 });
    const opened = await given.acknowledge(held[0]!);
    const claimed = await given.claim({ by: given.second, worker: "worker-b", now: given.later(60_000) });
    assert.equal(claimed.length, 2);
    await opened.abandon();
  },

  "claims again and again while others fire": async (given) => {
    const fired = Promise.all(range(20).map(() => given.fireMany(10)));
    let firing = true;
    fired.finally(() => firing = false);
    const claimed: string[] = [];
    while (firing) claimed.push(...await claimAll(given, given.second, "worker-b"));
    claimed.push(...await claimAll(given, given.storage, "worker-a"));
    await fired;
    assert.deepEqual(inOrder(claimed), (await given.rows()).map((row) => row.id));
  },
};
