import assert from "node:assert/strict";
import type { Instant } from "../../../src/instant.ts";
import type { ClaimedDelivery } from "../../../src/storage/records.ts";
import type { Fence } from "../../../src/storage/settlement.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { takeTime } from "../../support/wait_for.ts";
import type { Cases, Given } from "./given.ts";
import { dead, released, retryIn, succeeded } from "./samples.ts";

interface Options {
  worker?: string;
  leaseMs?: number;
  now?: Instant;
  by?: Storage;
}

function take(given: Given, { fence }: { fence: Fence }, options: Options = {}): Promise<ClaimedDelivery | null> {
  const { worker = "task-a", leaseMs = 60_000, now = given.now, by = given.storage } = options;
  return by.take({ fence, worker, leaseMs, now });
}

async function taken(given: Given, claimed: { fence: Fence }, options: Options = {}): Promise<ClaimedDelivery> {
  const delivery = await take(given, claimed, options);
  assert.ok(delivery, "Expected the claim to be taken over");
  return delivery;
}

/** Insists that the claim is nobody's to take, and that asking for it changes nothing. */
async function refused(given: Given, claimed: { fence: Fence }, now = given.now): Promise<void> {
  const before = await given.rows(now);
  assert.equal(await take(given, claimed, { now }), null);
  assert.deepEqual(await given.rows(now), before);
}

export const takeCases: Cases = {
  "the claim becomes the new worker's": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    const before = await given.row();
    const { fence } = await taken(given, held, { now: given.later(500), leaseMs: 30_000 });
    assert.deepEqual(fence, { id: held.fence.id, claimedBy: "task-a", claimedAt: given.later(500) });
    assert.deepEqual(await given.row(), {
      ...before,
      claimedBy: "task-a",
      claimedAt: given.later(500),
      leasedUntil: given.later(30_500),
    });
  },

  "gives all that a claim gives": async (given) => {
    await given.fire({
      payload: '{"n":1}',
      key: "order-1",
      actor: "user:7",
      target: "a",
      dueAt: given.later(-5),
      at: given.later(-10),
    });
    await given.settled(await given.claimOne(), retryIn(0));
    await given.claimOne({ leaseMs: 1 });
    const held = await given.claimOne({ now: given.later(1) });
    assert.equal(held.lapses, 1);
    const { fence: _, claimedNow, ...delivery } = await taken(given, held, { now: given.later(7) });
    const { fence: _f, claimedNow: _c, ...expected } = held;
    assert.deepEqual(delivery, expected);
    assert.equal(claimedNow, given.later(7));
  },

  "the moment of the claim rises under a clock that stands still or goes back": async (given) => {
    const held = await given.held();
    const second = await taken(given, held, { worker: held.fence.claimedBy });
    assert.equal(second.fence.claimedAt, held.fence.claimedAt + 1n);
    const third = await taken(given, second, { now: given.later(-1_000) });
    assert.equal(third.fence.claimedAt, second.fence.claimedAt + 1n);
  },

  "the claim before it is lost": async (given) => {
    const held = await given.held();
    const task = await taken(given, held);
    assert.equal(await given.settle(held, dead()), "lost");
    assert.deepEqual(await given.storage.renew([{ fence: held.fence, leaseMs: 1 }], given.now), new Set());
    assert.equal(await given.storage.acknowledge(held.fence, { timeoutMs: 1_000 }), null);
    await given.settled(task, succeeded);
  },

  "the new claim carries a receiver's transaction": async (given) => {
    const opened = await given.acknowledge(await taken(given, await given.held()));
    await given.note(opened.tx.client, "work");
    assert.equal(await opened.finish(succeeded), "applied");
    const { status, attempts } = await given.row();
    assert.deepEqual([status, attempts, await given.notes()], ["succeeded", 1, ["work"]]);
  },

  "a second copy of the message takes nothing": async (given) => {
    const held = await given.held();
    await taken(given, held);
    await refused(given, held);
  },

  "a message that comes after the settlement takes nothing": async (given) => {
    for (const settlement of [succeeded, retryIn(0), dead(), released]) {
      const held = await given.held();
      await given.settled(held, settlement);
      await refused(given, held);
      await given.database.clear();
    }
  },

  "a message that comes after the run that it asked for takes nothing": async (given) => {
    for (const settlement of [succeeded, retryIn(0), dead(), released]) {
      const held = await given.held();
      await given.settled(await taken(given, held), settlement);
      await refused(given, held);
      await given.database.clear();
    }
  },

  "a message that comes after the row was claimed anew takes nothing": async (given) => {
    for (const worker of ["worker-a", "worker-b"]) {
      const held = await given.held({ leaseMs: 1_000 });
      await given.claimOne({ worker, now: given.later(1_000) });
      await refused(given, held, given.later(1_000));
      await given.database.clear();
    }
  },

  "a message of an earlier claim of the same worker takes nothing": async (given) => {
    const first = await given.held();
    await given.settled(first, released);
    const second = await given.claimOne();
    await refused(given, first);
    await taken(given, second);
  },

  "a lease that has lapsed is still that claim, and counts as no lapse": async (given) => {
    const held = await given.held({ leaseMs: 1_000 });
    const { lapses } = await taken(given, held, { now: given.later(3_600_000) });
    const { leasedUntil, status } = await given.row(undefined, given.later(3_600_000));
    assert.deepEqual([lapses, status, leasedUntil], [0, "claimed", given.later(3_660_000)]);
  },

  "half a claim, or one that is off, takes nothing": async (given) => {
    const { fence } = await given.held();
    const { claimedAt } = fence;
    for (const claimedBy of ["worker-b", "Worker-a", "worker-a ", ""]) {
      await refused(given, { fence: { ...fence, claimedBy } });
    }
    for (const off of [claimedAt - 1n, claimedAt + 1n, 0n]) {
      await refused(given, { fence: { ...fence, claimedAt: off } });
    }
  },

  "a row that nobody has claimed is not taken": async (given) => {
    await given.fire();
    const { id } = await given.row();
    await refused(given, { fence: { id, claimedBy: "worker-a", claimedAt: given.now } });
    await refused(given, { fence: { id, claimedBy: "", claimedAt: 0n } });
  },

  "what is not there is not taken": async (given) => {
    const { fence } = await given.held();
    for (const id of ["9007199254740993", "9999999999999999999", "99999999999999999999", "an id", "", "-1"]) {
      await refused(given, { fence: { ...fence, id } });
    }
  },

  "the others of its worker stay as they are": async (given) => {
    await given.fireMany(3);
    const [first, second, third] = await given.claim();
    await taken(given, second!);
    await given.settled(first!, succeeded);
    await given.settled(third!, succeeded);
  },

  "without a moment the database's clock decides": async (given) => {
    const { fence } = await given.held();
    const delivery = await given.storage.take({ fence, worker: "task-a", leaseMs: 3_600_000 });
    const { claimedNow } = delivery!;
    assert.ok(claimedNow > given.later(-60_000) && claimedNow < given.later(60_000), `${claimedNow}`);
    assert.equal((await given.row()).leasedUntil, claimedNow + 3_600_000_000n);
  },

  "a row whose event is gone comes without it, so that it can end": async (given) => {
    const held = await given.held();
    await given.database.query(`delete from ${given.database.table("events")}`);
    const { event } = await taken(given, held);
    assert.deepEqual([event.id, event.name, event.version], [held.event.id, "", 0]);
  },

  "of two copies of a message one takes it": async (given) => {
    await given.fireMany(50);
    const held = await given.claim();
    const stores = [given.storage, given.second];
    for (const claimed of held) {
      const copies = await Promise.all(stores.map((by, n) => take(given, claimed, { by, worker: `task-${n}` })));
      const winners = copies.filter((each) => each !== null);
      assert.equal(winners.length, 1, `${winners.length} took it`);
      assert.equal((await given.row(claimed.fence.id)).claimedBy, winners[0]!.fence.claimedBy);
    }
  },

  "of a late message and a thief one wins": async (given) => {
    await given.fireMany(60);
    const held = await given.claim({ leaseMs: 1_000 });
    const now = given.later(1_000);
    const [stolen, ...late] = await Promise.all([
      given.claim({ by: given.second, worker: "worker-b", now, limit: 30 }),
      ...held.map((claimed) => take(given, claimed, { now })),
    ]);
    const byTasks = late.filter((each) => each !== null);
    const owners = new Map([...stolen, ...byTasks].map(({ fence }) => [fence.id, fence.claimedBy]));
    assert.equal(owners.size, stolen.length + byTasks.length, "a row has two owners");
    for (const row of await given.rows(now)) {
      assert.equal(row.claimedBy, owners.get(row.id) ?? assert.fail(`nobody has ${row.id}`));
    }
  },

  "waits for a renewal that is under way": async (given) => {
    const held = await given.held();
    const renewed = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const renewal = given.storage.yielding(() =>
      given.database.begin(async (client) => {
        await given.database.execute(
          client,
          `update ${given.database.table("deliveries")} set leased_until = leased_until`,
        );
        renewed.resolve();
        await goOn.promise;
      })
    );
    await renewed.promise;
    const message = take(given, held, { by: given.second });
    takeTime(50).then(goOn.resolve); // long enough for it to reach the database, and right if it does not
    await renewal;
    assert.ok(await message, "the message was dropped");
  },
};
