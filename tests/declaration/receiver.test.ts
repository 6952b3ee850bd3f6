import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anyEvent, event } from "../../src/declaration/event.ts";
import { isReceiver, receiver } from "../../src/declaration/receiver.ts";

const placed = event("orders.placed");
const declare = receiver as unknown as (
  event: unknown,
  key: unknown,
  handler: unknown,
  options?: unknown,
) => ReturnType<typeof receiver>;
const withOptions = (options: unknown) => declare(placed, "stock.reserve", () => {}, options);

describe("receiver", () => {
  it("is durable, and leaves the rest to the settings", () => {
    const reserve = withOptions({});
    assert.deepEqual(reserve.policy, {
      mode: "durable",
      maxAttempts: undefined,
      backoffBaseMs: undefined,
      backoffCapMs: undefined,
      leaseMs: undefined,
      timeoutMs: undefined,
      eager: false,
      lane: "default",
      due: undefined,
      targets: undefined,
      site: "relay",
      giveUpAfterMs: undefined,
      onFailure: undefined,
    });
    assert.ok(isReceiver(reserve));
    assert.ok(!isReceiver({ ...reserve }));
    assert.ok(Object.isFrozen(reserve) && Object.isFrozen(reserve.policy));
  });

  it("reads every option", () => {
    const targets = () => ["a"];
    const onFailure = () => {};
    const options = {
      mode: "durable",
      maxAttempts: 10,
      backoff: { base: { seconds: 5 }, cap: { minutes: 1 } },
      lease: { minutes: 2 },
      timeout: { seconds: 30 },
      eager: true,
      lane: "mail",
      due: { hours: 48 },
      targets,
      site: "task",
      giveUpAfter: { days: 40 },
      onFailure,
    };
    assert.deepEqual(withOptions(options).policy, {
      mode: "durable",
      maxAttempts: 10,
      backoffBaseMs: 5000,
      backoffCapMs: 60_000,
      leaseMs: 120_000,
      timeoutMs: 30_000,
      eager: true,
      lane: "mail",
      due: 172_800_000,
      targets,
      site: "task",
      giveUpAfterMs: 3_456_000_000,
      onFailure,
    });
    assert.equal(withOptions({ timeout: null }).policy.timeoutMs, null);
  });

  it("takes a base or a cap alone, and a cap that equals the base", () => {
    assert.equal(withOptions({ backoff: { base: { hours: 5 } } }).policy.backoffBaseMs, 18_000_000);
    assert.equal(withOptions({ backoff: { cap: { seconds: 1 } } }).policy.backoffCapMs, 1000);
    const equal = withOptions({ backoff: { base: { seconds: 1 }, cap: { seconds: 1 } } }).policy;
    assert.deepEqual([equal.backoffBaseMs, equal.backoffCapMs], [1000, 1000]);
  });

  const refused: [title: string, options: unknown, name: string, says: RegExp][] = [
    ["an unknown option", { retries: 5 }, "TypeError", /unknown option "retries", allowed are mode, maxAttempts/],
    ["options that are none", [], "TypeError", /options must be an object/],
    ["an unknown mode", { mode: "async" }, "TypeError", /mode must be one of "inline", "on-commit", "durable"/],
    ["a mode that is null", { mode: null }, "TypeError", /mode must be one of/],
    ["no attempts", { maxAttempts: 0 }, "RangeError", /maxAttempts of .* whole number from 1 to 32767, got 0$/],
    ["-1 attempts", { maxAttempts: -1 }, "RangeError", /got -1$/],
    ["2.5 attempts", { maxAttempts: 2.5 }, "RangeError", /got 2.5$/],
    ["NaN attempts", { maxAttempts: NaN }, "RangeError", /got NaN$/],
    ["32768 attempts", { maxAttempts: 32768 }, "RangeError", /got 32768$/],
    ['"5" attempts', { maxAttempts: "5" }, "RangeError", /got string$/],
    ["true attempts", { maxAttempts: true }, "RangeError", /got true$/],
    ["null attempts", { maxAttempts: null }, "RangeError", /got null$/],
    ["an infinity of attempts", { maxAttempts: Infinity }, "RangeError", /got Infinity$/],
    ["a lease of nothing", { lease: { seconds: 0 } }, "RangeError", /lease of .* from 1 millisecond .* got 0 ms/],
    ["a negative lease", { lease: { seconds: -1 } }, "RangeError", /lease of .* got -1000 ms/],
    ["a bare lease", { lease: 60 }, "TypeError", /lease of .* bare number 60/],
    ["a bare lease of 0", { lease: 0 }, "TypeError", /lease of .* bare number 0/],
    ["a lease that is null", { lease: null }, "TypeError", /lease of .* got null/],
    ["a timeout of nothing", { timeout: { seconds: 0 } }, "RangeError", /timeout of .* got 0 ms/],
    ["a bare timeout", { timeout: 0 }, "TypeError", /timeout of .* bare number 0/],
    ["a base of nothing", { backoff: { base: { seconds: 0 } } }, "RangeError", /backoff\.base of .* got 0 ms/],
    ["a bare base of 0", { backoff: { base: 0 } }, "TypeError", /backoff\.base of .* bare number 0/],
    ["a base that is null", { backoff: { base: null } }, "TypeError", /backoff\.base of .* got null/],
    ["a base that is an empty string", { backoff: { base: "" } }, "TypeError", /backoff\.base of .* got string/],
    ["a bare cap of 0", { backoff: { cap: 0 } }, "TypeError", /backoff\.cap of .* bare number 0/],
    ["a negative cap", { backoff: { cap: { hours: -1 } } }, "RangeError", /backoff\.cap of .* got -3600000 ms/],
    [
      "a backoff that is a duration",
      { backoff: { seconds: 5 } },
      "TypeError",
      /unknown option "seconds", allowed are base, cap/,
    ],
    ["a backoff that is null", { backoff: null }, "TypeError", /with its backoff: options must be an object/],
    [
      "a cap below the base",
      { backoff: { base: { seconds: 2 }, cap: { seconds: 1 } } },
      "RangeError",
      /backoff\.cap \(1000 ms\) is below backoff\.base \(2000 ms\).*never be read/,
    ],
    ["pitfall 33: a lane without a name", { lane: "" }, "TypeError", /lane must be/],
    ["pitfall 33: a blank lane", { lane: "  " }, "TypeError", /lane must be/],
    ["pitfall 33: a lane that is a number", { lane: 5 }, "TypeError", /lane must be/],
    ["pitfall 33: a lane that is null", { lane: null }, "TypeError", /lane must be/],
    ["a bare due", { due: 48 }, "TypeError", /due of .* bare number 48/],
    ["a due of nothing", { due: { hours: 0 } }, "RangeError", /due of .* from 1 millisecond to 100 years, got 0 ms/],
    ["a negative due", { due: { hours: -1 } }, "RangeError", /due of .* got -3600000 ms/],
    ["a due of more than a century", { due: { days: 36_526 } }, "RangeError", /due of .* to 100 years/],
    ["a due that is NaN", { due: { hours: NaN } }, "TypeError", /due of .* finite number/],
    ["a due that is a moment", { due: new Date() }, "TypeError", /due of .* names no unit/],
    ["a due that is null", { due: null }, "TypeError", /due of .* got null/],
    ["a due that is a string", { due: "tomorrow" }, "TypeError", /due of .* got string/],
    ["a bare bound", { giveUpAfter: 86_400 }, "TypeError", /giveUpAfter of .* bare number 86400/],
    ["a bound of nothing", { giveUpAfter: { days: 0 } }, "RangeError", /giveUpAfter of .* got 0 ms/],
    ["a negative bound", { giveUpAfter: { days: -1 } }, "RangeError", /giveUpAfter of .* got -86400000 ms/],
    ["a bound that is null", { giveUpAfter: null }, "TypeError", /giveUpAfter of .* got null/],
    ['eager "yes"', { eager: "yes" }, "TypeError", /eager must be true or false, got string/],
    ["eager 1", { eager: 1 }, "TypeError", /eager must be true or false, got 1/],
  ];
  for (const [title, options, name, says] of refused) {
    it(`refuses ${title}, by name`, () => {
      assert.throws(() => withOptions(options), (error: Error) => {
        assert.equal(error.name, name);
        assert.match(error.message, says);
        assert.match(error.message, /receiver "stock\.reserve"/);
        return true;
      });
    });
  }

  for (const mode of ["inline", "on-commit"]) {
    const rowShaped = {
      maxAttempts: 5,
      backoff: { base: { seconds: 1 } },
      lease: { seconds: 60 },
      timeout: { seconds: 1 },
      eager: true,
      lane: "mail",
      due: { hours: 48 },
      targets: () => [],
      site: "task",
      giveUpAfter: { days: 2 },
      onFailure: () => {},
    };
    for (const [option, value] of Object.entries(rowShaped)) {
      it(`pitfall 29: refuses ${option} in mode "${mode}", which has no row`, () => {
        assert.throws(() => withOptions({ mode, [option]: value }), {
          name: "TypeError",
          message: `Cannot declare receiver "stock.reserve": ${option} needs a row, and mode "${mode}" has none; ` +
            `allowed is only mode`,
        });
      });
    }

    it(`refuses a lifted timeout in mode "${mode}" too, and takes what says nothing`, () => {
      assert.throws(() => withOptions({ mode, timeout: null }), /timeout needs a row/);
      assert.equal(withOptions({ mode, lease: undefined, eager: false }).policy.mode, mode);
    });
  }

  it("refuses a key that a row could not hold", () => {
    for (const key of [undefined, "", "  ", 5, "a".repeat(256), "a\0", "a\ud800"]) {
      assert.throws(() => declare(placed, key, () => {}), /^TypeError: Cannot declare a receiver: its key must /);
    }
  });

  it("refuses what is no event, and says which receiver", () => {
    for (const event of [undefined, null, "orders.placed", placed({}), { every: true }, () => {}]) {
      assert.throws(
        () => declare(event, "stock.reserve", () => {}),
        /^TypeError: Cannot declare receiver "stock\.reserve": its event must be made by event\(\), or be anyEvent$/,
      );
    }
    assert.equal(declare(anyEvent, "audit", () => {}).event, anyEvent);
  });

  it("refuses a handler that is none", () => {
    for (const handler of [undefined, null, {}, "f"]) {
      assert.throws(
        () => declare(placed, "stock.reserve", handler),
        /receiver "stock\.reserve": its handler must be a/,
      );
    }
  });
});
