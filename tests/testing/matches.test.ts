import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { matches } from "../../src/testing/matches.ts";

const date = new Date(0);
const cases: [value: unknown, part: unknown, is: boolean][] = [
  [{ a: 1, b: 2 }, { a: 1 }, true],
  [{ a: 1, b: 2 }, {}, true],
  [{ a: 1 }, { a: 1, b: 2 }, false],
  [{ a: { b: { c: 1, d: 2 } } }, { a: { b: { c: 1 } } }, true],
  [{ a: { b: { c: 1 } } }, { a: { b: { c: 2 } } }, false],
  [{ a: 1 }, { a: "1" }, false],
  [{ a: null }, { a: {} }, false],
  [{ a: 1 }, { a: {} }, false],
  [null, {}, false],
  [null, null, true],
  [undefined, null, false],
  [{}, { a: undefined }, true],
  [{ a: 1 }, { a: undefined }, false],
  [[1, 2], [1, 2], true],
  [[1, 2], [1], false],
  [[1], [1, 2], false],
  [[], [], true],
  [[{ a: 1, b: 2 }], [{ a: 1 }], true],
  [[{ a: 1 }, { a: 2 }], [{ a: 2 }, { a: 1 }], false],
  [{ 0: 1, length: 1 }, [1], false],
  [[1], { 0: 1 }, false],
  ["text", "text", true],
  [NaN, NaN, true],
  [date, new Date(0), true],
  [date, new Date(1), false],
  [{ at: date, more: 1 }, { at: new Date(0) }, true],
  [1n, 1n, true],
  [new Map([[1, 2]]), new Map([[1, 2]]), true],
  [new Map([[1, 2]]), new Map([[1, 3]]), false],
];

describe("a part of a value", () => {
  for (const [value, part, is] of cases) {
    it(`${shown(part)} is ${is ? "" : "not "}in ${shown(value)}`, () => assert.equal(matches(value, part), is));
  }
});

function shown(value: unknown): string {
  if (value instanceof Map) return `Map ${JSON.stringify([...value])}`;
  return JSON.stringify(value, (_, one) => one === undefined ? "nothing" : typeof one === "bigint" ? `${one}n` : one) ??
    String(value);
}
