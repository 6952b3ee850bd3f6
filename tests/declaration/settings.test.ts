import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { resolveSettings, type Settings } from "../../src/declaration/settings.ts";

const resolve = (settings: unknown) => resolveSettings(settings as Settings);

const notWhole = [0, -5, 2.5, NaN, Infinity, "5", null, true, 5n, {}];
const notLong = [
  0,
  5,
  NaN,
  "60",
  null,
  true,
  [],
  {},
  { seconds: 0 },
  { seconds: -1 },
  { seconds: NaN },
  {
    seconds: Infinity,
  },
  { seconds: "60" },
  { days: 25 },
  { months: 1 },
];

const bad: Record<keyof Settings, unknown[]> = {
  batchSize: [...notWhole, 1001],
  concurrency: [...notWhole, 1001],
  lease: notLong,
  timeout: notLong.filter((value) => value !== null),
  poll: notLong,
  wake: ["", "Notify", "NOTIFY", "none", null, true, 1],
  notifyCoalesce: [null, 0, 5, "5", NaN, true, {}, { second: 1 }, { seconds: -1 }, { minutes: 2 }],
  backoff: [
    null,
    5,
    [],
    { seconds: 1 },
    { base: 0 },
    { base: null },
    { base: { seconds: 0 } },
    { cap: null },
    {
      base: { hours: 2 },
    },
    { cap: { seconds: 1 } },
    { base: { seconds: 2 }, cap: { seconds: 1 } },
  ],
  maxAttempts: [...notWhole, 32768],
  maxLapses: [...notWhole, 32768],
  maxRetryAfter: notLong,
  orphanAfter: notLong,
  maxPayloadBytes: [...notWhole, 1, 64 * 1024 * 1024 + 1],
  maxPayloadDepth: [...notWhole, 501],
  afterCommit: ["", "Await", "never", null, false],
  warnOutsideTransaction: ["false", 0, 1, null, {}],
};

describe("settings", () => {
  it("have the documented defaults", () => {
    assert.deepEqual(resolveSettings({}), {
      batchSize: 100,
      concurrency: 10,
      leaseMs: 60_000,
      timeoutMs: 300_000,
      pollMs: 1000,
      wake: "notify",
      notifyCoalesceMs: 10,
      backoffBaseMs: 2000,
      backoffCapMs: 3_600_000,
      maxAttempts: 5,
      maxLapses: 5,
      maxRetryAfterMs: 86_400_000,
      orphanAfterMs: 900_000,
      payload: { maxBytes: 1_048_576, maxDepth: 64 },
      afterCommit: "await",
      warnOutsideTransaction: true,
    });
  });

  it("take undefined for the default", () => {
    const undefineds = Object.fromEntries(Object.keys(bad).map((name) => [name, undefined]));
    assert.deepEqual(resolve(undefineds), resolveSettings({}));
  });

  it("take what is allowed, to the edge", () => {
    const resolved = resolve({
      batchSize: 1000,
      concurrency: 1,
      lease: { milliseconds: 1 },
      timeout: null,
      poll: { milliseconds: 2 ** 31 - 1 },
      wake: "poll",
      backoff: { base: { seconds: 1 }, cap: { seconds: 1 } },
      maxAttempts: 32767,
      maxPayloadDepth: 500,
      maxPayloadBytes: 2,
      afterCommit: "background",
      warnOutsideTransaction: false,
    });
    assert.equal(resolved.timeoutMs, null);
    assert.equal(resolved.pollMs, 2 ** 31 - 1);
    assert.equal(resolved.backoffCapMs, 1000);
    assert.ok(Object.isFrozen(resolved) && Object.isFrozen(resolved.payload));
  });

  for (const [name, values] of Object.entries(bad)) {
    it(`${name} is refused by name when it is out of range`, () => {
      for (const value of values) {
        assert.throws(() => resolve({ [name]: value }), (error: Error) => {
          assert.ok(error instanceof TypeError || error instanceof RangeError, String(error));
          assert.match(error.message, new RegExp(`^Cannot (use|declare) the setting ${name}\\b`), error.message);
          return true;
        }, `${name} = ${typeof value === "bigint" ? "5n" : JSON.stringify(value)}`);
      }
    });
  }

  it("that are unknown are refused, with the list of those that are not", () => {
    assert.throws(() => resolve({ batchsize: 5 }), {
      name: "TypeError",
      message: `Cannot use the settings: unknown option "batchsize", allowed are ${Object.keys(bad).join(", ")}`,
    });
    for (const value of [null, [], 5, "x"]) {
      assert.throws(() => resolve(value), /the settings: options must be an object/);
    }
  });
});
