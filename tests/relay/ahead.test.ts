import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ahead } from "../../src/relay/ahead.ts";

describe("the size of a claim", () => {
  it("is the batch while batches are over soon", () => {
    const ahead = new Ahead(100);
    for (const free of [10, 0, 3]) {
      assert.equal(ahead.limit(free), 100);
      assert.equal(ahead.isQuick, true);
      ahead.learn(100, 100, free);
    }
  });

  it("is the free slots when nothing that waited found one in time, and nothing when none is free", () => {
    const ahead = new Ahead(100);
    ahead.learn(54, 4, 4);
    assert.deepEqual([ahead.limit(4), ahead.limit(1), ahead.limit(0)], [4, 1, 0]);
    assert.equal(ahead.isQuick, false);
  });

  it("is as many more as found a slot in time", () => {
    const ahead = new Ahead(100);
    ahead.learn(100, 60, 10);
    assert.equal(ahead.limit(10), 60);
  });

  it("grows back to the batch as long as all find one", () => {
    const ahead = new Ahead(100);
    ahead.learn(54, 4, 4);
    let claims = 0;
    for (; !ahead.isQuick; claims++) ahead.learn(ahead.limit(4), ahead.limit(4), 4);
    assert.ok(claims < 25, `${claims} claims`);
    assert.equal(ahead.limit(4), 100);
  });

  it("is one at least when a slot is free, and never more than the batch", () => {
    const ahead = new Ahead(1);
    ahead.learn(1, 0, 1);
    assert.deepEqual([ahead.limit(0), ahead.limit(1), ahead.limit(5)], [0, 1, 1]);
  });
});
