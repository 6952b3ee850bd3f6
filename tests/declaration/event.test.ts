import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { z } from "zod";
import { event, isEvent } from "../../src/declaration/event.ts";

const declare = event as (name: unknown, options?: unknown) => ReturnType<typeof event>;

describe("event", () => {
  it("has defaults", () => {
    const placed = event("orders.placed");
    assert.equal(placed.name, "orders.placed");
    assert.equal(placed.version, 1);
    assert.equal(placed.schema, undefined);
    assert.deepEqual(placed.retention, { retentionSeconds: null, deleteWhen: null });
    assert.ok(isEvent(placed));
    assert.ok(!isEvent(() => {}));
    assert.ok(Object.isFrozen(placed));
  });

  it("gives what fire takes, and copies nothing yet", () => {
    const placed = event<{ orderId: number }>("orders.placed");
    const payload = { orderId: 1 };
    const instance = placed(payload);
    assert.equal(instance.definition, placed);
    assert.equal(instance.payload, payload);
  });

  it("takes any Standard Schema", () => {
    for (const schema of [z.object({}), v.object({}), z.string().pipe(z.coerce.number())]) {
      assert.equal(declare("x", { schema }).schema, schema);
    }
  });

  const refused: [title: string, options: unknown, name: string, says: RegExp][] = [
    [
      "an unknown option",
      { retenton: "settled" },
      "TypeError",
      /unknown option "retenton", allowed are version, schema/,
    ],
    ["options that are none", 1, "TypeError", /options must be an object/],
    ["options that are null", null, "TypeError", /options must be an object/],
    ["version 0", { version: 0 }, "RangeError", /version is a whole number from 1 to 32767, got 0$/],
    ["version -1", { version: -1 }, "RangeError", /got -1$/],
    ["version 1.5", { version: 1.5 }, "RangeError", /got 1.5$/],
    ["version 32768", { version: 32768 }, "RangeError", /got 32768$/],
    ["version NaN", { version: NaN }, "RangeError", /got NaN$/],
    ['version "1"', { version: "1" }, "RangeError", /whole number/],
    ["version null", { version: null }, "RangeError", /got null$/],
    ["a schema that is none", { schema: { parse() {} } }, "TypeError", /schema must implement Standard Schema v1/],
    ["a schema that is null", { schema: null }, "TypeError", /schema must implement/],
    ["a key that is no function", { key: "orderId" }, "TypeError", /key must be a function, got string/],
    ["an upgrade that is no function", { upgrade: {} }, "TypeError", /upgrade must be a function, got object/],
    [
      "an upgrade of the wrong arity",
      { upgrade: (_a: 1, _b: 2, _c: 3) => ({}) },
      "TypeError",
      /upgrade takes \(payload, fromVersion\), got 3 parameters/,
    ],
    ["a blank topic", { topic: " " }, "TypeError", /topic must be a non-empty string, got a blank one/],
    ["a topic that is no string", { topic: 1 }, "TypeError", /topic must be a non-empty string, got 1/],
    ["a bare retention", { retention: 90 }, "TypeError", /the retention of event "orders.placed".*bare number 90/],
    ["half a second of retention", { retention: { seconds: 0.5 } }, "RangeError", /got 0.5 seconds/],
  ];
  for (const [title, options, name, says] of refused) {
    it(`refuses ${title}, by name`, () => {
      assert.throws(() => declare("orders.placed", options), (error: Error) => {
        assert.equal(error.name, name);
        assert.match(error.message, says);
        assert.match(error.message, /event "orders\.placed"/);
        return true;
      });
    });
  }

  it("takes an upgrade with fewer, default or rest parameters", () => {
    for (const upgrade of [() => ({}), (payload: unknown) => payload, (...all: unknown[]) => all[0]]) {
      assert.equal(declare("x", { upgrade }).upgrade, upgrade);
    }
  });

  const names: [name: unknown, says: RegExp][] = [
    [undefined, /its name must be a non-empty string, got undefined/],
    [null, /got null/],
    [1, /got 1/],
    ["", /got a blank one/],
    [" \t", /got a blank one/],
    ["a".repeat(256), /at most 255 characters/],
    ["a\0b", /no control character/],
    ["a\nb", /no control character/],
    ["a\x7f", /no control character/],
    ["a\ud800", /no lone surrogate/],
  ];
  for (const [name, says] of names) {
    it(`refuses the name ${JSON.stringify(name)?.slice(0, 20)}`, () => {
      assert.throws(() => declare(name), (error: Error) => error instanceof TypeError && says.test(error.message));
    });
  }

  it("takes every other name as it is", () => {
    for (const name of ["a".repeat(255), "Bestellung.äöü", "__proto__", "constructor", "a b", "🧾"]) {
      assert.equal(declare(name).name, name);
    }
  });
});
