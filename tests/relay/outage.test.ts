import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Outage } from "../../src/relay/outage.ts";

const failures = (outage: Outage, count: number) =>
  Array.from({ length: count }, () => outage.failed("claim", new Error("connection refused")));

describe("outage", () => {
  it("waits longer each time, up to 15 seconds", () => {
    assert.deepEqual(failures(new Outage(1000), 6), [1000, 2000, 4000, 8000, 15_000, 15_000]);
  });

  it("waits no longer than that at first either, however seldom the relay polls", () => {
    assert.deepEqual(failures(new Outage(3_600_000), 2), [15_000, 15_000]);
  });

  it("is over when the database answers, says so once, and begins small again", () => {
    const outage = new Outage(1000);
    assert.equal(outage.ongoing, false);
    assert.equal(outage.over(), false);
    failures(outage, 3);
    assert.equal(outage.ongoing, true);
    assert.equal(outage.over(), true);
    assert.equal(outage.over(), false);
    assert.deepEqual(failures(outage, 2), [1000, 2000]);
  });
});
