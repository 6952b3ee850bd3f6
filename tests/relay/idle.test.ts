import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Idle } from "../../src/relay/idle.ts";

describe("the sleep of an idle relay", () => {
  it("is the poll when nothing is owed, and ends when the next row is due", () => {
    const idle = new Idle(1000);
    assert.deepEqual([null, 5000, 400, 3].map((dueMs) => idle.sleepMs(dueMs)), [1000, 1000, 400, 10]);
  });

  it("doubles up to the poll while what is due cannot be claimed", () => {
    const idle = new Idle(100);
    assert.deepEqual([0, 0, 0, 0, 0, 0].map((dueMs) => idle.sleepMs(dueMs)), [10, 20, 40, 80, 100, 100]);
  });

  it("is short again after a claim that brought rows, or a wake", () => {
    const idle = new Idle(100);
    for (let i = 0; i < 5; i++) idle.sleepMs(0);
    idle.over();
    assert.equal(idle.sleepMs(0), 10);
  });

  it("is never longer than the poll", () => {
    assert.equal(new Idle(4).sleepMs(0), 4);
  });
});
