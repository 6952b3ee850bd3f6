import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { type Duration, millisecondsOf, positive, untimed } from "../../src/duration.ts";

const of = (duration: unknown) => millisecondsOf(duration as Duration, "the setting lease");

describe("a duration", () => {
  it("is the sum of its units", () => {
    assert.equal(of({ minutes: 5, seconds: 30 }), 330_000);
    assert.equal(of({ weeks: 1, days: 1, hours: 1, milliseconds: 1 }), 604_800_000 + 86_400_000 + 3_600_000 + 1);
    assert.equal(of({ hours: 1, minutes: -30 }), 1_800_000);
    assert.equal(of({ seconds: 0.5 }), 500);
    assert.equal(of({ seconds: 1, minutes: undefined }), 1000);
  });

  it("adds up whatever its units are", () => {
    const amount = fc.integer({ min: -1000, max: 1000 });
    fc.assert(fc.property(amount, amount, amount, (hours, seconds, milliseconds) => {
      const separately = of({ hours }) + of({ seconds }) + of({ milliseconds });
      assert.equal(of({ hours, seconds, milliseconds }), separately);
    }));
  });

  it("may be a Temporal.Duration", () => {
    const { Temporal } = globalThis as unknown as { Temporal: { Duration: { from(from: object): Duration } } };
    assert.equal(of(Temporal.Duration.from({ minutes: 5, milliseconds: 1 })), 300_001);
    for (const unit of ["years", "months", "microseconds", "nanoseconds"]) {
      assert.throws(() => of(Temporal.Duration.from({ hours: 1, [unit]: 1 })), {
        name: "TypeError",
        message: `Cannot use the setting lease: ${unit} have no fixed length in whole milliseconds`,
      });
    }
  });

  const refused: [given: unknown, says: RegExp][] = [
    [5, /expected a duration with its unit such as \{ seconds: 5 \}, got the bare number 5$/],
    [0, /got the bare number 0$/],
    [NaN, /got the bare number NaN$/],
    ["5s", /got string$/],
    [null, /got null$/],
    [undefined, /got undefined$/],
    [true, /got boolean$/],
    [() => {}, /got function$/],
    [[5], /expected a duration with its unit/],
    [{}, /the duration names no unit/],
    [{ seconds: undefined }, /the duration names no unit/],
    [{ second: 5 }, /unknown unit "second", allowed are weeks, days, hours, minutes, seconds, milliseconds$/],
    [{ seconds: 5, months: 1 }, /unknown unit "months"/],
    [{ seconds: 5, toString: 1 }, /unknown unit "toString"/],
    [{ seconds: 5, constructor: 1 }, /unknown unit "constructor"/],
    [JSON.parse('{"seconds":5,"__proto__":1}'), /unknown unit "__proto__"/],
    [{ seconds: NaN }, /seconds must be a finite number, got the bare number NaN$/],
    [{ seconds: Infinity }, /seconds must be a finite number/],
    [{ seconds: "5" }, /seconds must be a finite number, got string$/],
    [{ seconds: null }, /seconds must be a finite number, got null$/],
    [{ seconds: 5n }, /seconds must be a finite number, got bigint$/],
  ];
  for (const [given, says] of refused) {
    it(`is not ${show(given)}`, () => {
      assert.throws(() => of(given), (error: Error) => {
        assert.equal(error.name, "TypeError");
        assert.match(error.message, /^Cannot use the setting lease: /);
        assert.match(error.message, says);
        return true;
      });
    });
  }
});

describe("a duration that must be longer than nothing", () => {
  const longest = 2 ** 31 - 1;

  it("fits a timer", () => {
    assert.equal(positive({ milliseconds: 1 }, "x"), 1);
    assert.equal(positive({ milliseconds: longest }, "x"), longest);
    for (const milliseconds of [0, -1, 0.4, longest + 1, 1e300]) {
      assert.throws(() => positive({ milliseconds }, "the setting poll"), {
        name: "RangeError",
        message: `Cannot use the setting poll: expected from 1 millisecond to 24 days, got ${String(milliseconds)} ms`,
      });
    }
  });

  it("has whole milliseconds, which the databases count in", () => {
    assert.notEqual(of({ seconds: 2.01 }), 2010, "floating point would show");
    assert.equal(positive({ seconds: 2.01 }, "x"), 2010);
    fc.assert(
      fc.property(fc.double({ min: 0.001, max: 2_000_000, noNaN: true }), (seconds) => {
        assert.ok(Number.isInteger(positive({ seconds }, "x")));
      }),
    );
  });
});

describe("a duration that no timer is set to", () => {
  it("may be a century long", () => {
    assert.equal(untimed({ days: 36_525 }, 1, "due"), 3_155_760_000_000);
    assert.equal(untimed({ milliseconds: 1 }, 1, "due"), 1);
    assert.equal(untimed({ milliseconds: 0 }, 0, "due"), 0);
  });

  it("is refused below its least and past a century", () => {
    const refused: [Duration, 0 | 1, string][] = [
      [{ milliseconds: 0 }, 1, "from 1 millisecond to 100 years, got 0 ms"],
      [{ milliseconds: -1 }, 0, "from nothing to 100 years, got -1 ms"],
      [{ days: 36_525, milliseconds: 1 }, 0, "from nothing to 100 years, got 3155760000001 ms"],
    ];
    for (const [duration, least, says] of refused) {
      assert.throws(() => untimed(duration, least, "due"), {
        name: "RangeError",
        message: `Cannot use due: expected ${says}`,
      });
    }
  });
});

function show(value: unknown): string {
  if (typeof value !== "object" || value === null) return `${typeof value} ${String(value)}`;
  return `{ ${
    Object.entries(value).map(([unit, amount]) => `${unit}: ${typeof amount} ${String(amount)}`).join(", ")
  } }`;
}
