import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { event } from "../../src/declaration/event.ts";
import { redact, REDACTED } from "../../src/declaration/redact.ts";

const shown = (payload: unknown, ...paths: string[]) => redact(event("x", { private: paths }), payload);

describe("private paths", () => {
  it("are replaced, and everything else is shown", () => {
    const payload = { name: "Ann", card: { number: "4111", month: 1 } };
    assert.deepEqual(shown(payload, "card.number", "name"), { name: REDACTED, card: { number: REDACTED, month: 1 } });
  });

  it("reach into every element of a list", () => {
    assert.deepEqual(shown({ lines: [{ name: "a", n: 1 }, { n: 2 }, "text", null] }, "lines[].name"), {
      lines: [{ name: REDACTED, n: 1 }, { n: 2 }, "text", null],
    });
    assert.deepEqual(shown({ tags: ["a", "b"] }, "tags[]"), { tags: [REDACTED, REDACTED] });
    assert.deepEqual(shown({ grid: [[{ x: 1 }], []] }, "grid[][].x"), { grid: [[{ x: REDACTED }], []] });
    assert.deepEqual(shown([{ name: "a" }], "[].name"), [{ name: REDACTED }]);
    assert.deepEqual(shown({ lines: ["a", "b"] }, "lines.1"), { lines: ["a", REDACTED] });
  });

  it("hide whole parts, and the payload as a whole", () => {
    assert.deepEqual(shown({ card: { number: "4111" } }, "card"), { card: REDACTED });
    assert.deepEqual(shown({ lines: [1, 2] }, "lines"), { lines: REDACTED });
    assert.equal(shown({ a: 1 }, "."), REDACTED);
  });

  it("that lead nowhere change nothing", () => {
    const payload = { card: null, lines: { name: "a" }, list: [1], text: "t" };
    for (const path of ["card.number", "lines[].name", "list.length", "text.length", "toString", "nothing.at.all"]) {
      assert.deepEqual(shown(payload, path), payload);
    }
  });

  it("leave the payload itself as it is", () => {
    const payload = Object.freeze({ card: Object.freeze({ number: "4111" }), list: Object.freeze([1]) });
    shown(payload, "card.number", "list[]");
    assert.deepEqual(payload, { card: { number: "4111" }, list: [1] });
  });

  it("stay keys, hostile ones too", () => {
    const payload = JSON.parse('{"__proto__": {"number": "4111"}, "a": 1}');
    const result = shown(payload, "__proto__.number") as object;
    assert.equal(JSON.stringify(result), `{"__proto__":{"number":"${REDACTED}"},"a":1}`);
  });

  it("of an event without any, and of nobody's event, hide nothing", () => {
    assert.deepEqual(redact(event("x"), { a: 1 }), { a: 1 });
    assert.deepEqual(redact(undefined, { a: 1 }), { a: 1 });
  });

  it("are refused where the event is declared, when they are none", () => {
    for (const paths of [["a", ""], [1], "card", { card: true }, [["a"]]]) {
      assert.throws(() => event("x", { private: paths as never }), /event "x": private must be a list of paths/);
    }
  });
});
