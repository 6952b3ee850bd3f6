import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { encodePayload } from "../../src/declaration/payload.ts";
import { PayloadRefused } from "../../src/errors.ts";

const limits = { maxBytes: 1024 * 1024, maxDepth: 64 };
const encode = (payload: unknown, some: Partial<typeof limits> = {}) =>
  encodePayload("orders.placed", payload, { ...limits, ...some });

function refusal(payload: unknown, some: Partial<typeof limits> = {}): PayloadRefused {
  try {
    encode(payload, some);
  } catch (error) {
    assert.ok(error instanceof PayloadRefused, String(error));
    assert.equal(error.eventName, "orders.placed");
    const where = error.path === "" ? "the payload" : `the payload at ${error.path}`;
    assert.ok(error.message.startsWith(`Cannot fire "orders.placed": ${where} `), error.message);
    return error;
  }
  throw new Error("It was taken");
}

const storable = fc.string({ unit: "grapheme" }).filter((text) => !text.includes("\0") && text.isWellFormed());
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { maxDepth: 6 },
    storable,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("json"), { maxLength: 4 }),
    fc.dictionary(fc.oneof(storable, fc.constantFrom("__proto__", "constructor", "toJSON", "length")), tie("json"), {
      maxKeys: 4,
    }),
  ),
}));

class Money {
  constructor(readonly amount: string) {}
}
const cycle: Record<string, unknown> = {};
cycle.self = cycle;
const hole = [1, 2, 3];
delete hole[1];

describe("a payload", () => {
  it("that is JSON is stored as the very bytes that JSON.stringify gives, and comes back", () => {
    fc.assert(fc.property(json, (payload) => {
      const text = encode(payload);
      assert.equal(text, JSON.stringify(payload));
      assert.equal(JSON.stringify(JSON.parse(text)), text);
    }));
  });

  it("may have hostile keys: they stay keys", () => {
    const hostile = JSON.parse('{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":null,"":0}');
    assert.equal(encode(hostile), '{"__proto__":{"admin":true},"constructor":{"prototype":1},"toString":null,"":0}');
    assert.equal(({} as { admin?: true }).admin, undefined);
    assert.equal(encode(Object.assign(Object.create(null), { a: 1 })), '{"a":1}');
  });

  it("may hold the same object twice: only a cycle is none", () => {
    const same = { a: 1 };
    assert.equal(encode({ left: same, right: same, list: [same, same] }).match(/"a"/g)?.length, 4);
  });

  const refused: [title: string, value: unknown, reason: RegExp][] = [
    ["undefined", undefined, /^must be JSON, got undefined$/],
    ["a function", () => {}, /^must be JSON, got a function$/],
    ["a symbol", Symbol("secret"), /^must be JSON, got a symbol$/],
    ["a bigint", 12345678901234567890n, /^must be JSON, got a bigint: fire it as a string$/],
    ["NaN", NaN, /^must be a finite number, got NaN$/],
    ["Infinity", -Infinity, /^must be a finite number, got Infinity$/],
    ["a Date", new Date(), /^must be JSON, got a Date$/],
    ["a Map", new Map([["secret", 1]]), /^must be JSON, got a Map$/],
    ["a Set", new Set(["secret"]), /^must be JSON, got a Set$/],
    ["bytes", new Uint8Array([1]), /^must be JSON, got a Uint8Array$/],
    ["a RegExp", /secret/, /^must be JSON, got a RegExp$/],
    ["an Error", new Error("secret"), /^must be JSON, got a Error$/],
    ["a promise", Promise.resolve(1), /^must be JSON, got a Promise$/],
    ["a boxed string", Object("secret"), /^must be JSON, got a String$/],
    ["an instance of a class", new Money("secret"), /^must be JSON, got a Money$/],
    ["an object with a prototype of its own", Object.create(Object.create(null)), /^must be JSON, got an object of a/],
    ["a symbol as a key", { [Symbol("secret")]: 1 }, /^must be JSON, got an object with a symbol as a key$/],
    ["a NUL", "secret\0", /^must have no NUL character, got one$/],
    ["a lone surrogate", "secret\ud83d", /^must be well-formed Unicode, got a lone surrogate$/],
  ];
  for (const [title, value, reason] of refused) {
    it(`may not hold ${title}, and the refusal says where and why, never what`, () => {
      const wrapped: [path: string, payload: unknown][] = [
        ["", value],
        ["total", { orderId: "secret", total: value }],
        ["items[1].price", { items: [{ price: 1 }, { price: value }] }],
        ["[0]", [value]],
        ['a["b c"][""]', { a: { "b c": { "": value } } }],
        ['a["0"]', { a: { 0: value } }],
      ];
      for (const [path, payload] of wrapped) {
        const error = refusal(payload);
        assert.equal(error.path, path);
        assert.match(error.message.split(path === "" ? "payload " : `${path} `).at(-1)!, reason);
        assert.doesNotMatch(error.message, /secret|12345/);
      }
    });
  }

  it("may not hold it anywhere: the path leads to it", () => {
    const bad = fc.constantFrom(undefined, NaN, 1n, "\0", "\ud800", new Date(), () => {});
    const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.constantFrom("a", "b_1", "$c")), {
      maxLength: 20,
    });
    fc.assert(fc.property(bad, steps, json, (value, path, sibling) => {
      let payload: unknown = value;
      for (const step of path.toReversed()) {
        payload = typeof step === "number" ? [...Array(step).fill(sibling), payload] : { z: sibling, [step]: payload };
      }
      const expected = path.map((step, i) => typeof step === "number" ? `[${step}]` : i === 0 ? step : `.${step}`);
      assert.equal(refusal(payload).path, expected.join(""));
    }));
  });

  it("may not have a key that no database stores", () => {
    assert.match(refusal({ "a\0b": 1 }).message, /at \["a\\u0000b"\] must have no NUL/);
    assert.match(refusal({ "\udc00": 1 }).message, /at \["\\udc00"\] must be well-formed/);
  });

  it("may not lead back to itself", () => {
    assert.match(refusal(cycle).message, /at self must be a tree, got a cycle$/);
    const list: unknown[] = [];
    list.push([list]);
    assert.match(refusal({ list }).message, /at list\[0\]\[0\] must be a tree, got a cycle$/);
  });

  it("may not have a hole, which would come back as null", () => {
    assert.equal(refusal({ list: hole }).path, "list[1]");
  });

  it("may nest up to the setting and no deeper", () => {
    const nested = (depth: number) => Array(depth).fill(0).reduce((inner) => [inner], 1);
    assert.equal(encode(nested(3), { maxDepth: 3 }), "[[[1]]]");
    assert.match(refusal(nested(4), { maxDepth: 3 }).message, /at \[0\]\[0\]\[0\] must nest at most 3 deep/);
    assert.match(refusal(nested(100_000), { maxDepth: 500 }).message, /must nest at most 500 deep/);
  });

  it("may take the bytes of the setting and no more, counted in UTF-8", () => {
    for (const [text, bytes] of [["a", 3], ["ä", 4], ["🧾", 6], ["\n", 4], ["€", 5]] as const) {
      assert.equal(encode(text, { maxBytes: bytes }).length > 0, true);
      const { message } = refusal(text, { maxBytes: bytes - 1 });
      assert.match(message, new RegExp(`takes ${bytes} bytes, expected at most ${bytes - 1}: fire a fact`));
    }
  });
});
