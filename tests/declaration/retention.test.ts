import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Retention, storedRetention } from "../../src/declaration/retention.ts";

const of = (retention: unknown) => storedRetention(retention as Retention, 'the retention of event "x"');
const most = 2 ** 31 - 1;

describe("a retention", () => {
  it("is stored as seconds, as a word, or as neither", () => {
    assert.deepEqual(of(undefined), { retentionSeconds: null, deleteWhen: null });
    assert.deepEqual(of("succeeded"), { retentionSeconds: null, deleteWhen: "succeeded" });
    assert.deepEqual(of("settled"), { retentionSeconds: null, deleteWhen: "settled" });
    assert.deepEqual(of({ days: 90 }), { retentionSeconds: 7_776_000, deleteWhen: null });
    assert.deepEqual(of({ milliseconds: 2000 }), { retentionSeconds: 2, deleteWhen: null });
    assert.deepEqual(of({ seconds: 1 }), { retentionSeconds: 1, deleteWhen: null });
    assert.deepEqual(of({ seconds: most }), { retentionSeconds: most, deleteWhen: null });
  });

  for (const seconds of [0, -1, 0.5, 1.5, most + 1, 1e300]) {
    it(`pitfall 25: is not ${seconds} seconds`, () => {
      assert.throws(() => of({ seconds }), {
        name: "RangeError",
        message: `Cannot use the retention of event "x": a retention is a whole number of seconds from 1 to ${most}, ` +
          `got ${seconds} seconds`,
      });
    });
  }

  for (const [given, says] of [[90, /bare number 90/], ["90d", /"90d" is unknown, allowed are/], [null, /null/]]) {
    it(`pitfall 25: is not ${JSON.stringify(given)}`, () => {
      assert.throws(() => of(given), (error: Error) => {
        assert.equal(error.name, "TypeError");
        assert.match(error.message, says as RegExp);
        return true;
      });
    });
  }
});
