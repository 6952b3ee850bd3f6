import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Leases } from "../../src/delivery/leases.ts";
import { LeaseLost } from "../../src/errors.ts";
import type { Renewal } from "../../src/storage/storage.ts";
import { FakeTime, turn } from "../support/fake_time.ts";
import { attemptOf, coreOf } from "./given.ts";

/** A database that renews all but what it is told not to, and fails when it is told to. */
class Database {
  readonly renewals: { at: number; ids: string[]; leaseMs: number[] }[] = [];
  readonly taken = new Set<string>();
  down = false;
  readonly #time: FakeTime;

  constructor(time: FakeTime) {
    this.#time = time;
  }

  renew = (renewals: readonly Renewal[]): Promise<Set<string>> => {
    const ids = renewals.map(({ fence }) => fence.id);
    this.renewals.push({ at: this.#time.now, ids, leaseMs: renewals.map(({ leaseMs }) => leaseMs) });
    if (this.down) return Promise.reject(new Error("connection refused"));
    return Promise.resolve(new Set(ids.filter((id) => !this.taken.has(id))));
  };
}

function given(time: FakeTime, leaseSeconds = 60) {
  const database = new Database(time);
  const core = coreOf({ renew: database.renew }, { lease: { seconds: leaseSeconds } });
  return { database, core, leases: new Leases(core) };
}

describe("leases", () => {
  it("are renewed every third of their length, all in one statement", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    leases.add([attemptOf(core, 1).attempt, attemptOf(core, 2).attempt], 0);
    assert.deepEqual(leases.held, ["1", "2"]);
    await time.pass(61_000);
    assert.deepEqual(database.renewals.map(({ at }) => at), [20_000, 40_000, 60_000]);
    assert.deepEqual(database.renewals[0], { at: 20_000, ids: ["1", "2"], leaseMs: [60_000, 60_000] });
    leases.close();
    assert.equal(time.timers, 0);
  });

  it("are not renewed once their receiver is done", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    const { attempt } = attemptOf(core, 1);
    leases.add([attempt], 0);
    leases.delete(attempt);
    await time.pass(120_000);
    assert.deepEqual(database.renewals, []);
    assert.equal(time.timers, 0);
  });

  it("that were taken end their attempt as lost, and no other", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    const [stays, goes] = [attemptOf(core, 1), attemptOf(core, 2)];
    leases.add([stays.attempt, goes.attempt], 0);
    database.taken.add("2");
    await time.pass(20_000);
    assert.equal(stays.interruptions.length, 0);
    assert.equal(goes.interruptions[0]?.kind, "lost");
    assert.ok(goes.interruptions[0]?.reason instanceof LeaseLost);
    await time.pass(20_000);
    assert.deepEqual(database.renewals.at(-1)?.ids, ["1"]);
    leases.close();
  });

  it("of a row that this process took again belong to the later claim: the earlier attempt ends as lost", async () => {
    using time = new FakeTime();
    const { core, leases } = given(time);
    const earlier = attemptOf(core, 1);
    const fence = { ...earlier.attempt.delivery.fence, claimedAt: 2_000_000n };
    const later = attemptOf(core, 1, { fence });
    leases.add([earlier.attempt], 0);
    leases.add([later.attempt], 0);
    await time.pass(20_000);
    assert.equal(earlier.interruptions[0]?.kind, "lost");
    assert.equal(later.interruptions.length, 0);
    leases.close();
  });

  it("of a row that its own transaction has locked are kept by that lock", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    const { attempt, interruptions } = attemptOf(core, 1);
    attempt.context = { holding: true } as never;
    database.taken.add("1");
    leases.add([attempt], 0);
    await time.pass(60_000);
    assert.equal(interruptions.length, 0);
    assert.equal(database.renewals.length, 3);
    leases.close();
  });

  it("that could not be renewed are tried again soon, and nothing is lost by it", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    const { attempt, interruptions } = attemptOf(core, 1);
    leases.add([attempt], 0);
    database.down = true;
    await time.pass(20_350);
    assert.deepEqual(database.renewals.map(({ at }) => at), [20_000, 20_100, 20_200, 20_300]);
    database.down = false;
    await time.pass(50);
    await time.pass(19_999);
    assert.equal(database.renewals.length, 5);
    await time.pass(1);
    assert.equal(database.renewals.length, 6, "then every third again");
    assert.equal(interruptions.length, 0);
    leases.close();
  });

  it("of a delivery that ended while the renewal was on its way are no loss", async () => {
    using time = new FakeTime();
    let answer = (_ids: Set<string>) => {};
    const core = coreOf({ renew: () => new Promise((resolve) => answer = resolve) });
    const leases = new Leases(core);
    const { attempt, interruptions } = attemptOf(core, 1);
    leases.add([attempt], 0);
    await time.pass(20_000);
    leases.delete(attempt);
    answer(new Set());
    await turn();
    assert.equal(interruptions.length, 0);
    leases.close();
  });

  it("that are shorter are renewed sooner, whoever came first", async () => {
    using time = new FakeTime();
    const database = new Database(time);
    const long = coreOf({ renew: database.renew }, { lease: { seconds: 600 } });
    const short = coreOf({ renew: database.renew }, { lease: { seconds: 30 } });
    const leases = new Leases(long);
    leases.add([attemptOf(long, 1).attempt], 0);
    leases.add([attemptOf(short, 2).attempt], 0);
    await time.pass(10_000);
    assert.deepEqual(database.renewals.map(({ at }) => at), [10_000]);
    leases.close();
  });

  it("may have lapsed while the event loop was blocked: a receiver starts only after they were asked for", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    const { attempt, interruptions } = attemptOf(core, 1);
    leases.add([attempt], 0);
    assert.ok(leases.isLive(attempt, 47_000));
    await leases.ensureLive(attempt);
    assert.equal(database.renewals.length, 0, "a lease that is young enough costs no question");
    time.block(50_000);
    assert.ok(!leases.isLive(attempt, time.now));
    database.taken.add("1");
    await leases.ensureLive(attempt);
    assert.equal(database.renewals.length, 1);
    assert.equal(interruptions[0]?.kind, "lost");
    leases.close();
  });

  it("count from the moment before the claim was sent, not from its answer", async () => {
    using time = new FakeTime();
    const { database, core, leases } = given(time);
    time.block(15_000);
    leases.add([attemptOf(core, 1).attempt], 0);
    await time.pass(5000);
    assert.deepEqual(database.renewals.map(({ at }) => at), [20_000]);
    leases.close();
  });
});
