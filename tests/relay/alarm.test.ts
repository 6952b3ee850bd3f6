import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../src/clock.ts";
import { Alarm } from "../../src/relay/alarm.ts";
import { FakeTime, turn } from "../support/fake_time.ts";

const never = new AbortController().signal;

/** Sleeps, and tells when it is over. */
function sleeper(time: FakeTime, alarm: Alarm, ms: number, signal: AbortSignal = never) {
  const state: { wokeAt: number | undefined } = { wokeAt: undefined };
  void alarm.sleep(ms, signal).then(() => state.wokeAt = time.now);
  return state;
}

describe("alarm", () => {
  it("lets sleep for the time that is asked", async () => {
    using time = new FakeTime();
    const state = sleeper(time, new Alarm(systemClock), 1000);
    await time.pass(999);
    assert.equal(state.wokeAt, undefined);
    await time.pass(1);
    assert.equal(state.wokeAt, 1000);
  });

  it("ends the sleep at a wake, and leaves no timer", async () => {
    using time = new FakeTime();
    const alarm = new Alarm(systemClock);
    const state = sleeper(time, alarm, 1000);
    await time.pass(200);
    alarm.ring();
    await turn();
    assert.equal(state.wokeAt, 200);
    assert.equal(time.timers, 0);
  });

  it("ends the next sleep when it rang while nobody slept", async () => {
    using time = new FakeTime();
    const alarm = new Alarm(systemClock);
    alarm.ring();
    const state = sleeper(time, alarm, 1000);
    await turn();
    assert.equal(state.wokeAt, 0);
  });

  it("forgets what it rang for once somebody has looked", async () => {
    using time = new FakeTime();
    const alarm = new Alarm(systemClock);
    alarm.ring();
    alarm.reset();
    const state = sleeper(time, alarm, 1000);
    await time.pass(999);
    assert.equal(state.wokeAt, undefined);
    await time.pass(1);
  });

  it("ends the sleep when the relay stops, before it and during it", async () => {
    using time = new FakeTime();
    const alarm = new Alarm(systemClock);
    const stopping = new AbortController();
    const during = sleeper(time, alarm, 1000, stopping.signal);
    await time.pass(300);
    stopping.abort();
    await turn();
    assert.equal(during.wokeAt, 300);
    const after = sleeper(time, alarm, 1000, stopping.signal);
    await turn();
    assert.equal(after.wokeAt, 300);
    assert.equal(time.timers, 0);
  });
});
