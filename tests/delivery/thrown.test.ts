import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isThrown, NotYet, PermanentFailure, RetryAfter } from "../../src/delivery/thrown.ts";
import type { Duration } from "../../src/duration.ts";

const retryAfter = (wait: unknown, options?: object) => () => new RetryAfter(wait as Duration, options);

describe("RetryAfter", () => {
  it("says what was asked, and counts, unless it is told otherwise", () => {
    const error = new RetryAfter({ minutes: 2 });
    assert.deepEqual([error.name, error.message, error.waitMs, error.counts], [
      "RetryAfter",
      "asked to be retried after 120 seconds",
      120_000,
      true,
    ]);
    const deferral = new RetryAfter({ seconds: 0.5 }, { reason: "daily quota", counts: false });
    assert.deepEqual([deferral.message, deferral.waitMs, deferral.counts], ["daily quota", 500, false]);
  });

  it("may ask for nothing when it counts", () => {
    assert.equal(new RetryAfter({ seconds: 0 }).waitMs, 0);
    assert.equal(new RetryAfter({ seconds: 0 }, { counts: true }).waitMs, 0);
  });

  it("pitfall 82: asking for nothing without counting is refused", () => {
    assert.throws(retryAfter({ seconds: 0 }, { counts: false }), { name: "RangeError", message: /would never end/ });
    assert.throws(retryAfter({ minutes: 1, seconds: -60 }, { counts: false }), RangeError);
  });

  const refused: [title: string, wait: unknown, name: string, says: RegExp][] = [
    ["a negative wait", { seconds: -1 }, "RangeError", /negative wait, got -1000 ms/],
    ["NaN", { seconds: NaN }, "TypeError", /wait of RetryAfter: seconds must be a finite number/],
    ["an infinite wait", { seconds: Infinity }, "TypeError", /must be a finite number/],
    ["a bare number", 120, "TypeError", /wait of RetryAfter: .* got the bare number 120/],
    ["a bare NaN", NaN, "TypeError", /the bare number NaN/],
    ["an unknown unit", { second: 1 }, "TypeError", /unknown unit "second"/],
    ["no unit", {}, "TypeError", /names no unit/],
    ["nothing", undefined, "TypeError", /got undefined/],
  ];
  for (const [title, wait, name, message] of refused) {
    for (const counts of [true, false]) {
      it(`pitfall 82: ${title} is refused when it is built, counts: ${counts}`, () => {
        assert.throws(retryAfter(wait, { counts }), { name, message });
      });
    }
  }
});

describe("NotYet", () => {
  it("keeps its moment", () => {
    const until = new Date(Date.now() + 60_000);
    const error = new NotYet(until);
    assert.deepEqual([error.name, error.message, error.until], [
      "NotYet",
      "the work is not due yet",
      BigInt(until.getTime()) * 1000n,
    ]);
    assert.equal(new NotYet(until, { reason: "the offer was extended" }).message, "the offer was extended");
    const epochMilliseconds = until.getTime();
    assert.equal(new NotYet({ epochMilliseconds }).until, error.until);
  });

  it("pitfall 98: a moment that has passed, or this one, is refused when it is built", () => {
    for (const ms of [Date.now() - 1, Date.now(), 0, -5]) {
      assert.throws(() => new NotYet(new Date(ms)), { name: "RangeError", message: /in the future/ });
    }
  });

  it("pitfall 98: what is no instant is refused when it is built", () => {
    const year = new Date(Date.now() + 1e9).getFullYear();
    for (const until of [`${year + 1}-01-01T00:00:00`, Date.now() + 60_000, null, undefined, {}, new Date(NaN)]) {
      assert.throws(() => new NotYet(until as Date), { name: "TypeError", message: /the until of NotYet/ });
    }
  });
});

describe("what was thrown", () => {
  it("is told by its class alone", () => {
    class Retired extends PermanentFailure {
      override name = "Retired";
    }
    assert.equal(isThrown(new Retired("gone"), PermanentFailure), true);
    assert.equal(isThrown(new PermanentFailure("gone"), RetryAfter), false);
    const alike = Object.assign(new Error("410 Gone"), { name: "PermanentFailure" });
    for (const other of [alike, { name: "PermanentFailure" }, "PermanentFailure", undefined, null]) {
      assert.equal(isThrown(other, PermanentFailure), false);
    }
  });
});
