import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Deadlines } from "../../src/delivery/deadlines.ts";
import { ReceiverTimeout } from "../../src/errors.ts";
import { FakeTime } from "../support/fake_time.ts";
import { attemptOf, coreOf } from "./given.ts";

const core = coreOf({});
const withTimeout = (seconds: number | null, id = 1) =>
  attemptOf(coreOf({}, {}, { timeout: seconds === null ? null : { seconds } }), id);

describe("deadlines", () => {
  it("end an attempt at its timeout, once, and say why", async () => {
    using time = new FakeTime();
    const deadlines = new Deadlines();
    const { attempt, interruptions } = withTimeout(5);
    deadlines.add(attempt, performance.now());
    await time.pass(4998);
    assert.equal(interruptions.length, 0);
    await time.pass(2);
    assert.equal(interruptions.length, 1);
    assert.equal(interruptions[0]!.kind, "timeout");
    assert.ok(interruptions[0]!.reason instanceof ReceiverTimeout);
    assert.equal(
      (interruptions[0]!.reason as Error).message,
      'Receiver "stock.reserve" did not finish within its timeout of 5000 ms',
    );
    await time.pass(60_000);
    assert.equal(interruptions.length, 1);
    assert.equal(time.timers, 0);
  });

  it("take the default of five minutes, and none where it is lifted", async () => {
    using time = new FakeTime();
    const deadlines = new Deadlines();
    const [usual, lifted] = [attemptOf(core, 1), withTimeout(null, 2)];
    deadlines.add(lifted.attempt, performance.now());
    assert.equal(time.timers, 0);
    deadlines.add(usual.attempt, performance.now());
    await time.pass(300_000);
    assert.equal(usual.interruptions.length, 1);
    assert.equal(lifted.interruptions.length, 0);
  });

  it("share one timer, which is set to the earliest whatever the order", async () => {
    using time = new FakeTime();
    const deadlines = new Deadlines();
    const ended: string[] = [];
    for (const seconds of [30, 10, 20, 10]) {
      const { attempt } = withTimeout(seconds);
      attempt.onInterrupt = () => ended.push(`${seconds} at ${time.now / 1000}`);
      deadlines.add(attempt, performance.now());
    }
    assert.equal(time.timers, 1);
    await time.pass(60_000);
    assert.deepEqual(ended, ["10 at 10", "10 at 10", "20 at 20", "30 at 30"]);
  });

  it("forget an attempt that has ended, and still end the next", async () => {
    using time = new FakeTime();
    const deadlines = new Deadlines();
    const [done, next] = [withTimeout(5, 1), withTimeout(5, 2)];
    deadlines.add(done.attempt, performance.now());
    deadlines.delete(done.attempt);
    await time.pass(3000);
    deadlines.add(next.attempt, performance.now());
    await time.pass(4999);
    assert.equal(next.interruptions.length, 0);
    await time.pass(1);
    assert.equal(done.interruptions.length, 0);
    assert.equal(next.interruptions.length, 1);
  });

  it("leave no timer behind when they are closed", () => {
    using time = new FakeTime();
    const deadlines = new Deadlines();
    deadlines.add(withTimeout(5).attempt, performance.now());
    deadlines.close();
    assert.equal(time.timers, 0);
  });
});
