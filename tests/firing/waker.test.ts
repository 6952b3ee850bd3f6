import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Waker } from "../../src/firing/wake.ts";
import type { Storage } from "../../src/storage/storage.ts";
import { FakeTime } from "../support/fake_time.ts";

function given(time: FakeTime, intervalMs = 100, answer = () => Promise.resolve()) {
  const sent: number[] = [];
  const storage = { wake: () => (sent.push(time.now), answer()) } as unknown as Storage;
  return { sent, waker: new Waker(storage, intervalMs) };
}

describe("waker", () => {
  it("sends the first wake at once", () => {
    using time = new FakeTime();
    const { sent, waker } = given(time);
    waker.wake();
    assert.deepEqual(sent, [0]);
  });

  it("sends one for a burst, and one more at the end of the interval", async () => {
    using time = new FakeTime();
    const { sent, waker } = given(time);
    for (let i = 0; i < 1000; i++) waker.wake();
    await time.pass(1000);
    assert.deepEqual(sent, [0, 100]);
    waker.wake();
    assert.deepEqual(sent, [0, 100, 1000], "after a pause it is at once again");
  });

  it("is not starved by a steady stream: fires every fifth of the interval", async () => {
    using time = new FakeTime();
    const { sent, waker } = given(time);
    for (let i = 0; i < 100; i++) {
      waker.wake();
      await time.pass(20);
    }
    await time.pass(1000);
    assert.deepEqual(sent, Array.from({ length: 21 }, (_, i) => i * 100));
  });

  it("never loses the last", async () => {
    for (const lastAt of [1, 50, 99, 100, 101]) {
      using time = new FakeTime();
      const { sent, waker } = given(time);
      waker.wake();
      await time.pass(lastAt);
      waker.wake();
      await time.pass(1000);
      assert.equal(sent.length, 2);
      assert.ok(sent[1]! >= lastAt);
    }
  });

  it("sends at the end what is still waiting, and nothing when nothing is", async () => {
    using time = new FakeTime();
    const { sent, waker } = given(time);
    waker.flush();
    assert.deepEqual(sent, []);
    waker.wake();
    await time.pass(10);
    waker.wake();
    waker.flush();
    waker.flush();
    assert.deepEqual(sent, [0, 10]);
    assert.equal(time.timers, 0);
    await time.pass(1000);
    assert.deepEqual(sent, [0, 10]);
  });

  it("cannot fail", async () => {
    using time = new FakeTime();
    const { sent, waker } = given(time, 100, () => Promise.reject(new Error("connection lost")));
    waker.wake();
    waker.wake();
    await time.pass(1000);
    assert.equal(sent.length, 2);
  });
});
