import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { backoffMs, ceilingMs, type Curve } from "../../src/delivery/backoff.ts";

const curve = fc.tuple(fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.integer({ min: 1, max: 2 ** 31 - 1 }))
  .map(([a, b]): Curve => ({ baseMs: Math.min(a, b), capMs: Math.max(a, b) }));
const attempt = fc.integer({ min: 1, max: 10_000 });
const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

/** The longest that all waits between so many attempts can be together, in seconds. */
function budget(curve: Curve, attempts: number): number {
  let sum = 0;
  for (let attempt = 1; attempt < attempts; attempt++) sum += ceilingMs(curve, attempt);
  return sum / 1000;
}

describe("backoff", () => {
  it("doubles its ceiling from the base up to the cap", () => {
    const curve = { baseMs: 2000, capMs: 60_000 };
    assert.deepEqual([1, 2, 3, 4, 5, 6, 7].map((n) => ceilingMs(curve, n) / 1000), [2, 4, 8, 16, 32, 60, 60]);
  });

  it("draws each wait from the whole window below its ceiling, never above it", () => {
    fc.assert(fc.property(curve, attempt, random, (curve, attempt, random) => {
      const wait = backoffMs(curve, attempt, random);
      assert.ok(wait >= 0 && wait <= ceilingMs(curve, attempt) && wait <= curve.capMs);
      assert.equal(backoffMs(curve, attempt, 0), 0);
    }));
    assert.ok(backoffMs({ baseMs: 1000, capMs: 9000 }, 3, 0.999999) > 3999);
  });

  it("never falls with the attempt, and stays finite at the ten-thousandth", () => {
    fc.assert(fc.property(curve, attempt, (curve, attempt) => {
      assert.ok(ceilingMs(curve, attempt + 1) >= ceilingMs(curve, attempt));
    }));
    assert.equal(ceilingMs({ baseMs: 2 ** 31 - 1, capMs: 2 ** 31 - 1 }, 10_000), 2 ** 31 - 1);
  });

  it("adds up to the budgets that the documentation promises", () => {
    assert.equal(budget({ baseMs: 120_000, capMs: 1_800_000 }, 10), 10_800);
    assert.equal(budget({ baseMs: 2000, capMs: 3_600_000 }, 8), 254);
    assert.equal(budget({ baseMs: 2000, capMs: 3_600_000 }, 5), 30);
  });

  it("waits half of the budget on average", () => {
    const curve = { baseMs: 120_000, capMs: 1_800_000 };
    const steps = 1000;
    let sum = 0;
    for (let attempt = 1; attempt < 10; attempt++) {
      for (let i = 0; i < steps; i++) sum += backoffMs(curve, attempt, (i + 0.5) / steps) / steps;
    }
    assert.ok(Math.abs(sum / 1000 - 5400) < 1);
  });
});
