import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { errorClass, errorText } from "../../src/delivery/error_text.ts";
import { errorType } from "../../src/log.ts";

class PaymentRefused extends Error {
  override name = "PaymentRefused";
}
class Unnamed extends Error {}
const throwing = () => {
  throw new Error("hostile");
};
const hostile: [title: string, thrown: unknown][] = [
  ["an error whose message throws", Object.defineProperty(new Error(), "message", { get: throwing })],
  ["an error whose name throws", Object.defineProperty(new Error("x"), "name", { get: throwing })],
  ["an error whose name is a symbol", Object.assign(new Error("x"), { name: Symbol("s") })],
  [
    "an error whose name is an object that cannot be a string",
    Object.assign(new Error("x"), { name: { toString: throwing } }),
  ],
  ["an error whose message is a symbol", Object.assign(new Error(), { message: Symbol("s") })],
  ["an error without a constructor", Object.assign(new Error("x"), { name: "", constructor: undefined })],
  ["an error whose code throws", Object.defineProperty(new Error("x"), "code", { get: throwing })],
  ["an object without a prototype", Object.create(null)],
  ["an object whose toString throws", { toString: throwing, [Symbol.toPrimitive]: throwing }],
  ["a proxy that answers nothing", new Proxy({}, { get: throwing, getPrototypeOf: throwing, has: throwing })],
  ["a revoked proxy", revoked()],
  ["a symbol", Symbol("s")],
  ["undefined", undefined],
  ["null", null],
  ["a bigint", 5n],
  ["a function", throwing],
];

describe("the text of an error", () => {
  it("is its type and its message", () => {
    const texts: [unknown, string][] = [
      [new Error("no"), "Error: no"],
      [new PaymentRefused("card"), "PaymentRefused: card"],
      [new TypeError(""), "TypeError: "],
      [Object.assign(new Unnamed("x"), { name: "" }), "Unnamed: x"],
      ["no", "string: no"],
      [42, "number: 42"],
      [null, "null: null"],
      [undefined, "undefined: undefined"],
      [Symbol("s"), "symbol: Symbol(s)"],
      [{ code: 1 }, "object: [object Object]"],
    ];
    for (const [thrown, text] of texts) assert.equal(errorText(thrown, "x"), text);
  });

  it("says that it was the receiver which an abort ended", () => {
    const aborted = new DOMException("This operation was aborted", "AbortError");
    assert.equal(
      errorText(aborted, "stock.reserve"),
      'Receiver "stock.reserve" was aborted before it finished: AbortError: This operation was aborted',
    );
  });

  it("is cut at 2000 characters, and not within one", () => {
    assert.equal(errorText(new Error("a".repeat(5000)), "x").length, 2000);
    const text = errorText(new Error(`${"a".repeat(1992)}🧾🧾`), "x");
    assert.equal(text.length, 2000);
    assert.ok(text.isWellFormed() && text.endsWith("a\ufffd"));
  });

  it("can be stored whatever was thrown", () => {
    const anyError = fc.oneof(
      fc.anything(),
      fc.string({ unit: "binary" }),
      fc.string({ unit: "binary" }).map((m) => new Error(m)),
    );
    fc.assert(fc.property(anyError, (thrown) => assertStorable(errorText(thrown, "x"))));
    assert.equal(errorText(new Error("a\0b\ud800"), "x"), "Error: a\ufffdb\ufffd");
  });

  for (const [title, thrown] of hostile) {
    it(`is there for ${title}`, () => {
      assertStorable(errorText(thrown, "x"));
      assert.equal(typeof errorClass(thrown), "string");
      assert.equal(typeof errorType(thrown), "string");
    });
  }
});

describe("the type of an error in a log line", () => {
  it("shows class and code, and never the message", () => {
    assert.equal(
      errorType(Object.assign(new Error("password=secret"), { code: "ECONNREFUSED" })),
      "Error (ECONNREFUSED)",
    );
    assert.equal(errorType(new PaymentRefused("secret")), "PaymentRefused");
    assert.equal(errorType(Object.assign(new Error("secret"), { code: 5 })), "Error");
    assert.equal(errorType("secret"), "a thrown string");
    assert.equal(errorType(null), "null");
  });
});

function assertStorable(text: string): void {
  assert.equal(typeof text, "string");
  assert.ok(text.isWellFormed() && !text.includes("\0") && text.length <= 2000);
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}
