import assert from "node:assert/strict";
import { type Cases, idsOf } from "./given.ts";
import { dead, retryIn, succeeded } from "./samples.ts";

export const releaseUnknownCases: Cases = {
  "gives back what the worker does not know of": async (given) => {
    await given.fireMany(3);
    const [known, ...unknown] = idsOf(await given.claim());
    assert.equal(await given.storage.releaseUnknown("worker-a", [known!]), 2);
    assert.deepEqual(idsOf(await given.claim({ worker: "worker-b" })), unknown);
  },

  "keeps what it holds": async (given) => {
    const held = await given.held();
    const before = await given.row();
    assert.equal(await given.storage.releaseUnknown("worker-a", [held.fence.id]), 0);
    assert.deepEqual(await given.row(), before);
    await given.settled(held, succeeded);
  },

  "a worker that holds nothing gives back everything": async (given) => {
    await given.fireMany(2);
    await given.claim();
    assert.equal(await given.storage.releaseUnknown("worker-a", []), 2);
  },

  "leaves what another worker holds": async (given) => {
    await given.held({ worker: "worker-b" });
    for (const worker of ["worker-a", "Worker-b", "worker-", "worker-b%"]) {
      assert.equal(await given.storage.releaseUnknown(worker, []), 0);
    }
    assert.equal((await given.row()).status, "claimed");
  },

  "leaves what is parked: it was handed over": async (given) => {
    const held = await given.held();
    await given.storage.renew([{ fence: held.fence, leaseMs: 60_000, parked: true }], given.now);
    const before = await given.row();
    assert.equal(await given.storage.releaseUnknown("worker-a", []), 0);
    assert.deepEqual(await given.row(), before);
  },

  "leaves what is settled": async (given) => {
    for (const settlement of [succeeded, dead(), retryIn(1_000)]) await given.settled(await given.held(), settlement);
    const before = await given.rows();
    assert.equal(await given.storage.releaseUnknown("worker-a", []), 0);
    assert.deepEqual(await given.rows(), before);
  },

  "counts no lapse and no attempt": async (given) => {
    await given.held();
    await given.storage.releaseUnknown("worker-a", []);
    const { lapses, attempts } = await given.claimOne({ worker: "worker-b" });
    assert.deepEqual([lapses, attempts], [0, 0]);
  },

  "the claim that was given back is lost to a later one": async (given) => {
    const held = await given.held();
    await given.storage.releaseUnknown("worker-a", []);
    await given.claimOne();
    assert.equal(await given.settle(held, succeeded), "lost");
  },

  "the claim that was given back is lost to who holds it after all, and not settled already": async (given) => {
    const held = await given.held();
    await given.storage.releaseUnknown("worker-a", []);
    for (const settlement of [succeeded, retryIn(0), dead()]) {
      assert.equal(await given.settle(held, settlement), "lost");
    }
    assert.equal((await given.storage.renew([{ fence: held.fence, leaseMs: 60_000 }], given.now)).size, 0);
    const { status, attempts } = await given.row();
    assert.deepEqual([status, attempts], ["pending", 0]);
  },

  "many at once": async (given) => {
    await given.fireMany(500);
    const held = idsOf(await given.claim({ limit: 400 }));
    await given.claim({ limit: 100 });
    assert.equal(await given.storage.releaseUnknown("worker-a", held), 100);
  },
};
