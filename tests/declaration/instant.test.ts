import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { dateOf, type InstantLike, instantOf } from "../../src/instant.ts";

const of = (value: unknown) => instantOf(value as InstantLike, "the option now");

describe("an instant", () => {
  it("comes from a Date, from a Temporal.Instant, or from anything with epochMilliseconds", () => {
    const { Temporal } = globalThis as unknown as { Temporal: { Instant: { from(text: string): InstantLike } } };
    const expected = BigInt(Date.UTC(2026, 0, 2)) * 1000n;
    assert.equal(of(new Date("2026-01-02")), expected);
    assert.equal(of(Temporal.Instant.from("2026-01-02T00:00:00Z")), expected);
    assert.equal(of({ epochMilliseconds: Date.UTC(2026, 0, 2) }), expected);
    assert.equal(of({ epochMilliseconds: 1.9 }), 1000n);
  });

  it("is every Date, before 1970 too", () => {
    fc.assert(fc.property(fc.date({ noInvalidDate: true }), (date) => {
      assert.equal(dateOf(of(date)).getTime(), date.getTime());
    }));
  });

  it("is cut to milliseconds where it becomes a Date", () => {
    assert.equal(dateOf(1_999_999n).getTime(), 1999);
  });

  const none = [
    undefined,
    null,
    0,
    1_700_000_000_000,
    "2026-01-02",
    5n,
    {},
    new Date(NaN),
    [],
    {
      epochMilliseconds: "5",
    },
    { epochMilliseconds: NaN },
    { epochMilliseconds: Infinity },
    { epochMilliseconds: 8.64e15 + 1 },
    {
      epochMilliseconds: 5n,
    },
  ];
  for (const value of none) {
    it(`is not ${typeof value} ${value instanceof Date ? "invalid" : Object.values(Object(value)).map(String)}`, () => {
      assert.throws(() => of(value), {
        name: "TypeError",
        message: "Cannot use the option now: expected a valid Date or an object with epochMilliseconds",
      });
    });
  }
});
