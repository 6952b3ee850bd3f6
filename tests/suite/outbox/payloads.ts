import assert from "node:assert/strict";
import { event, fire, PayloadRefused } from "../../../mod.ts";
import type { Cases } from "./given.ts";

const Anything = event<unknown>("anything.happened");
const secret = "hunter2";

class Money {
  amount = secret;
}

const cycle: Record<string, unknown> = { name: secret };
cycle.self = { again: cycle };

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let i = 0; i < depth; i++) value = [value];
  return value;
}

/** By title: the payload, the path that is named, and a part of the reason. */
const refused: Readonly<Record<string, readonly [payload: unknown, path: string, reason: RegExp]>> = {
  "undefined as a whole": [undefined, "", /must be JSON, got undefined/],
  "undefined inside": [{ a: { b: undefined } }, "a.b", /got undefined/],
  "a hole in an array": [{ a: [1, , 3] }, "a[1]", /got undefined/], // deno-lint-ignore-line no-sparse-arrays
  "a function": [{ a: [() => secret] }, "a[0]", /got a function/],
  "a symbol": [{ a: Symbol(secret) }, "a", /got a symbol/],
  "a symbol as a key": [{ a: { [Symbol("k")]: secret } }, "a", /symbol as a key/],
  "NaN": [{ total: NaN }, "total", /finite number, got NaN/],
  "Infinity": [{ totals: [1, -Infinity] }, "totals[1]", /finite number, got Infinity/],
  "a bigint": [{ id: 1n }, "id", /bigint/],
  "a cycle": [cycle, "self.again", /cycle/],
  "a lone surrogate": [{ a: `${secret}\ud800` }, "a", /lone surrogate/],
  "a lone surrogate in a key": [{ "k\ud800": 1 }, '["k\\ud800"]', /lone surrogate/],
  "NUL": [{ a: `${secret}\0` }, "a", /NUL/],
  "NUL in a key": [{ "k\0": 1 }, '["k\\u0000"]', /NUL/],
  "a Date": [{ at: new Date(0) }, "at", /got a Date/],
  "a Map": [{ m: new Map([[secret, secret]]) }, "m", /got a Map/],
  "a class instance": [{ "the total": new Money() }, '["the total"]', /got a Money/],
  "bytes": [{ b: new Uint8Array(2) }, "b", /got a Uint8Array/],
  "a boxed string": [{ s: new String(secret) }, "s", /got a String/],
};

const cases: Record<string, Cases[string]> = {};
for (const [title, [payload, path, reason]] of Object.entries(refused)) {
  cases[`refused: ${title}, by its path, before any write, and the transaction stays usable`] = async (given) => {
    const outbox = given.outbox([], { events: [Anything] });
    await outbox.transaction(async (tx) => {
      await given.note(tx.client, "before");
      await assert.rejects(fire(tx, Anything(payload as never)), (error: unknown) => {
        assert.ok(error instanceof PayloadRefused);
        assert.equal(error.path, path);
        assert.equal(error.eventName, "anything.happened");
        assert.match(error.message, reason);
        assert.ok(!error.message.includes(secret), error.message);
        return true;
      });
      await given.note(tx.client, "usable");
    });
    assert.deepEqual(await given.events(), []);
    assert.deepEqual(await given.notes(), ["before", "usable"]);
  };
}

export const payloadCases: Cases = {
  ...cases,

  "refused: more bytes than the setting, counted in UTF-8": async (given) => {
    const outbox = given.outbox([], { events: [Anything], settings: { maxPayloadBytes: 100 } });
    await outbox.transaction(async (tx) => {
      await fire(tx, Anything("é".repeat(49))); // 98 bytes and two quotes
      await assert.rejects(fire(tx, Anything("é".repeat(50))), { name: "PayloadRefused", message: /takes 102 bytes/ });
    });
    assert.equal((await given.events()).length, 1);
  },

  "refused: deeper than the setting": async (given) => {
    const outbox = given.outbox([], { events: [Anything], settings: { maxPayloadDepth: 5 } });
    await outbox.transaction(async (tx) => {
      await fire(tx, Anything(nested(5) as never));
      await assert.rejects(fire(tx, Anything(nested(6) as never)), {
        name: "PayloadRefused",
        path: "[0][0][0][0][0]",
        message: /at most 5 deep/,
      });
    });
    assert.equal((await given.events()).length, 1);
  },

  "one object in two places is no cycle": async (given) => {
    const shared = { a: 1 };
    await given.fire(given.outbox([], { events: [Anything] }), Anything({ left: shared, right: [shared] } as never));
    assert.deepEqual(JSON.parse((await given.events())[0]!.payload), { left: { a: 1 }, right: [{ a: 1 }] });
  },

  "every kind of JSON is stored as it was fired": async (given) => {
    const whole = {
      text: "quotes \" ' \\ / $$ \u2028 \u{1F680}",
      numbers: [0, -1.5, 1e300, 5e-324, Number.MAX_SAFE_INTEGER],
      nothing: null,
      yes: true,
      "": { "__proto__ ": 1, constructor: "c" },
      empty: [[], {}],
    };
    const payloads = [whole, "text", 7, false, null, [], Object.assign(Object.create(null), { bare: 1 })];
    await given.fire(given.outbox([], { events: [Anything] }), ...payloads.map((one) => Anything(one)));
    assert.deepEqual(
      (await given.events()).map(({ payload }) => JSON.parse(payload)),
      payloads.map((one) => JSON.parse(JSON.stringify(one))),
    );
  },

  "a large payload is stored, with a warning that names the event": async (given) => {
    const text = "x".repeat(70_000);
    await given.fire(given.outbox([], { events: [Anything] }), Anything(text));
    assert.equal(JSON.parse((await given.events())[0]!.payload), text);
    const [line, ...more] = given.logs.lines("warning");
    assert.match(line!, /anything\.happened.*70002 characters/);
    assert.deepEqual(more, []);
  },
};
