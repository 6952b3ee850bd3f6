import assert from "node:assert/strict";
import type { ClaimedDelivery } from "../../../src/storage/records.ts";
import { type Cases, idsOf } from "./given.ts";
import { range, released, retryIn, succeeded } from "./samples.ts";

function renewals(claimed: readonly ClaimedDelivery[], leaseMs = 60_000) {
  return claimed.map(({ fence }) => ({ fence, leaseMs }));
}

export const renewCases: Cases = {
  "extends a lease from now": async (given) => {
    const held = await given.held({ leaseMs: 60_000 });
    const extended = await given.storage.renew(renewals([held]), given.later(20_000));
    assert.deepEqual(extended, new Set([held.fence.id]));
    assert.equal((await given.row()).leasedUntil, given.later(80_000));
  },

  "leaves the fence as it is": async (given) => {
    const held = await given.held();
    await given.storage.renew(renewals([held]), given.later(20_000));
    assert.equal((await given.row()).claimedAt, held.fence.claimedAt);
    await given.settled(held, succeeded, given.later(20_000));
  },

  "keeps thieves away": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    await given.storage.renew(renewals([held], 1_000), given.later(500));
    assert.deepEqual(await given.claim({ worker: "worker-b", now: given.later(1_000) }), []);
    await given.claimOne({ worker: "worker-b", now: given.later(1_500) });
  },

  "each has its own duration": async (given) => {
    await given.fireMany(2);
    const [a, b] = await given.claim();
    const durations = [{ fence: a!.fence, leaseMs: 90_000 }, { fence: b!.fence, leaseMs: 3_600_000 }];
    await given.storage.renew(durations, given.now);
    const leases = (await given.rows()).map((row) => row.leasedUntil);
    assert.deepEqual(leases, [given.later(90_000), given.later(3_600_000)]);
  },

  "many at once": async (given) => {
    await given.fireMany(500);
    const claimed = await given.claim({ limit: 500 });
    assert.equal((await given.storage.renew(renewals(claimed), given.now)).size, 500);
  },

  "a row that was stolen is not extended": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    await given.claimOne({ worker: "worker-b", now: given.later(1_000) });
    const before = await given.row();
    assert.equal((await given.storage.renew(renewals([held]), given.later(1_000))).size, 0);
    assert.deepEqual(await given.row(), before);
  },

  "a row that lapsed and was not taken is extended": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    assert.equal((await given.storage.renew(renewals([held]), given.later(5_000))).size, 1);
    assert.deepEqual(await given.claim({ worker: "worker-b", now: given.later(5_000) }), []);
  },

  "a row that was settled is not extended": async (given) => {
    for (const settlement of [succeeded, released, retryIn(0)]) {
      const held = await given.held();
      await given.settled(held, settlement);
      const before = await given.row();
      assert.equal((await given.storage.renew(renewals([held]), given.now)).size, 0, settlement.kind);
      assert.deepEqual(await given.row(), before);
      await given.database.clear();
    }
  },

  "only those that are held are extended": async (given) => {
    await given.fireMany(3);
    const [a, b, c] = await given.claim({ leaseMs: 1_000 });
    await given.settled(a!, succeeded);
    const off = [
      { ...b!, fence: { ...b!.fence, claimedBy: "worker-b" } },
      { ...b!, fence: { ...b!.fence, claimedAt: b!.fence.claimedAt + 1n } },
      { ...b!, fence: { ...b!.fence, claimedAt: b!.fence.claimedAt - 1n } },
    ];
    const extended = await given.storage.renew(renewals([a!, ...off, c!]), given.later(10));
    assert.deepEqual(extended, new Set([c!.fence.id]));
    assert.equal((await given.row(b!.fence.id)).leasedUntil, given.later(1_000));
  },

  "a row that a transaction has locked is passed by": async (given) => {
    await given.fireMany(3);
    const claimed = await given.claim();
    const opened = await given.acknowledge(claimed[0]!);
    const extended = await given.storage.renew(renewals(claimed), given.later(1_000));
    assert.deepEqual(extended, new Set(idsOf(claimed).slice(1)));
    assert.equal(await opened.finish(succeeded), "applied");
  },

  "rows that are not there are not extended": async (given) => {
    const held = await given.held();
    await given.database.query(`delete from ${given.database.table("deliveries")}`);
    assert.equal((await given.storage.renew(renewals([held]), given.now)).size, 0);
  },

  "nothing to extend extends nothing": async (given) => {
    assert.equal((await given.storage.renew([], given.now)).size, 0);
  },

  "without a moment the database's clock decides": async (given) => {
    const held = await given.held();
    await given.storage.renew(renewals([held], 3_600_000));
    const { leasedUntil } = await given.row();
    assert.ok(leasedUntil! > given.later(3_540_000) && leasedUntil! < given.later(3_660_000), `${leasedUntil}`);
  },

  "renewals while others claim never share a row": async (given) => {
    await given.fireMany(50);
    const held = await given.claim({ leaseMs: 1_000 });
    const lapsed = given.later(1_000);
    const [extended, ...stolen] = await Promise.all([
      given.storage.renew(renewals(held), lapsed),
      ...range(3).map(() => given.claim({ by: given.second, worker: "worker-b", now: lapsed, limit: 10 })),
    ]);
    assert.deepEqual(stolen.flatMap(idsOf).filter((id) => extended.has(id)), []);
  },

  "of two claims of a row the later is answered for, in whatever order they are named": async (given) => {
    const stale = await given.held({ leaseMs: 1_000 });
    const live = await given.claimOne({ leaseMs: 1_000, now: given.later(1_000) });
    for (const both of [[stale, live], [live, stale]]) {
      assert.deepEqual(await given.storage.renew(renewals(both), given.later(1_500)), new Set([live.fence.id]));
    }
    await given.settled(live, released);
    assert.deepEqual(await given.storage.renew(renewals([stale, live]), given.later(1_500)), new Set());
  },

  "a lease only grows": async (given) => {
    const held = await given.held({ leaseMs: 60_000 });
    const before = await given.row();
    assert.equal((await given.storage.renew(renewals([held], 1_000), given.now)).size, 1);
    assert.deepEqual(await given.row(), before);
  },

  "a parked row waits behind the end of its lease; another keeps its place": async (given) => {
    await given.fireMany(2);
    const [kept, parked] = await given.claim();
    const places = (await given.rows()).map((row) => row.availableAt);
    await given.storage.renew(
      [{ fence: kept!.fence, leaseMs: 90_000 }, { fence: parked!.fence, leaseMs: 90_000, parked: true }],
      given.now,
    );
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.leasedUntil), [given.later(90_000), given.later(90_000)]);
    assert.deepEqual(rows.map((row) => row.availableAt), [places[0], given.later(90_000)]);
    assert.deepEqual(rows.map((row) => row.status), ["claimed", "claimed"]);
    const taken = await given.claim({ worker: "worker-b", now: given.later(90_000) });
    assert.deepEqual(idsOf(taken), [kept!.fence.id, parked!.fence.id]);
  },

  "a row that is parked where its lease is longer waits behind that": async (given) => {
    const held = await given.held({ leaseMs: 3_600_000 });
    await given.storage.renew([{ fence: held.fence, leaseMs: 1_000, parked: true }], given.now);
    const { availableAt, leasedUntil } = await given.row();
    assert.deepEqual([availableAt, leasedUntil], [given.later(3_600_000), given.later(3_600_000)]);
  },
};
