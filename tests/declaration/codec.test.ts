import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import * as v from "valibot";
import { z } from "zod";
import { decodePayload, PayloadUndecodable, PayloadUpgradeFailed } from "../../src/declaration/codec.ts";
import { type AnyEventDefinition, event } from "../../src/declaration/event.ts";
import type { StandardSchema } from "../../src/declaration/schema.ts";

const declare = event as unknown as (name: string, options: unknown) => AnyEventDefinition;
const decode = (options: object, text: string, version = 1): unknown =>
  decodePayload(declare("orders.placed", options), text, version);

function undecodable(options: object, text: string): PayloadUndecodable {
  let thrown: unknown;
  assert.throws(() => decode(options, text), (error) => (thrown = error) instanceof PayloadUndecodable);
  return thrown as PayloadUndecodable;
}

describe("decoding without a schema", () => {
  it("gives back any JSON, deeply frozen and a fresh copy each time", () => {
    fc.assert(fc.property(fc.json(), (text) => {
      const [first, second] = [decode({}, text), decode({}, text)];
      assert.deepEqual(first, JSON.parse(text));
      if (typeof first === "object" && first !== null) assert.notEqual(first, second);
      assertFrozen(first);
    }));
  });

  it("keeps hostile keys harmless", () => {
    const payload = decode({}, '{"__proto__":{"admin":true},"a":{"constructor":1}}') as Record<string, unknown>;
    assert.ok(Object.hasOwn(payload, "__proto__"));
    assert.equal(Object.getPrototypeOf(payload), Object.prototype);
    assertFrozen(payload);
  });

  it("refuses text that is no JSON and does not quote it", () => {
    for (const text of ['{"secret":', "", "undefined", "{'secret':1}", '"secret\n"']) {
      assert.equal(
        undecodable({}, text).message,
        'Cannot decode event "orders.placed": the payload must be JSON, got text that is not',
      );
    }
  });
});

describe("decoding with a schema", () => {
  const zod = z.object({ orderId: z.int(), email: z.email(), items: z.array(z.object({ price: z.string() })) });
  const valibot = v.object({
    orderId: v.number(),
    email: v.pipe(v.string(), v.email()),
    items: v.array(v.object({ price: v.string() })),
  });
  const good = { orderId: 1, email: "a@b.example", items: [{ price: "1.00" }] };
  const bad: [change: object, path: string, reason: { zod: RegExp; valibot: RegExp }][] = [
    [{ orderId: "secret" }, "orderId", {
      zod: /^must be int|number, got a string$/,
      valibot: /^must be number, got a st/,
    }],
    [{ orderId: undefined }, "orderId", { zod: /got nothing$/, valibot: /got nothing$/ }],
    [{ orderId: null }, "orderId", { zod: /got null$/, valibot: /got null$/ }],
    [{ email: "secret" }, "email", { zod: /^must be what its schema says, got a string$/, valibot: /got a string$/ }],
    [{ items: { secret: 1 } }, "items", {
      zod: /^must be array, got an object$/,
      valibot: /^must be Array, got an obj/,
    }],
    [{ items: [{ price: "1" }, { price: ["secret"] }] }, "items[1].price", {
      zod: /^must be string, got an array$/,
      valibot: /^must be string, got an array$/,
    }],
  ];
  for (const [vendor, schema] of Object.entries({ zod, valibot })) {
    it(`${vendor}: gives what fits, frozen`, () => {
      const payload = decode({ schema }, JSON.stringify(good));
      assert.deepEqual(payload, good);
      assertFrozen(payload);
    });

    it(`${vendor}: says where, what was expected and the type, never the value`, () => {
      for (const [change, path, reason] of bad) {
        const error = undecodable({ schema }, JSON.stringify({ ...good, ...change }));
        assert.equal(error.path, path);
        assert.match(error.reason, reason[vendor as "zod" | "valibot"]);
        assert.equal(error.message, `Cannot decode event "orders.placed": the payload at ${path} ${error.reason}`);
        assert.doesNotMatch(error.message, /secret/);
      }
    });

    it(`${vendor}: whatever does not fit, its text is in no message`, () => {
      // With a space, or some text might happen to be an email address.
      const secret = fc.string({ minLength: 6 }).map((text) => `s3cr3t ${text}`);
      fc.assert(fc.property(fc.constantFrom("orderId", "email", "items"), secret, (field, value) => {
        const { message } = undecodable({ schema }, JSON.stringify({ ...good, [field]: value }));
        assert.ok(!message.includes("s3cr3t"), message);
      }));
    });

    it(`${vendor}: counts what else is wrong`, () => {
      assert.match(undecodable({ schema }, "{}").message, /\(and 2 more\)$/);
    });
  }

  it("gives the schema's output: defaults, transformed values", () => {
    const schema = z.object({
      at: z.string().transform((text) => new Date(text)),
      tags: z.array(z.string()).default([]),
    });
    const payload = decode({ schema }, '{"at":"2026-01-02T03:04:05Z"}') as { at: Date; tags: string[] };
    assert.equal(payload.at.getTime(), Date.UTC(2026, 0, 2, 3, 4, 5));
    assertFrozen(payload.tags);
  });

  it("waits for an asynchronous validator, for good and for bad", async () => {
    const schema = z.object({ sku: z.string().refine((sku) => Promise.resolve(sku === "tea")) });
    const decoding = decode({ schema }, '{"sku":"tea"}');
    assert.ok(decoding instanceof Promise);
    assert.deepEqual(await decoding, { sku: "tea" });
    assertFrozen(await decoding);
    await assert.rejects(async () => await decode({ schema }, '{"sku":"secret"}'), {
      name: "PayloadUndecodable",
      path: "sku",
      reason: "must be what its schema says, got a string",
    });
    const rejecting = schemaOf(() => Promise.reject(new Error("the validator's database is away")));
    await assert.rejects(async () => await decode({ schema: rejecting }, "{}"), /database is away/);
  });

  it("freezes what a schema had frozen on the outside alone, and what leads back to itself", () => {
    const readonly = z.object({ inner: z.object({ list: z.array(z.int()) }) }).readonly();
    assertFrozen(decode({ schema: readonly }, '{"inner":{"list":[1]}}'));
    const round: Record<string, unknown> = { list: [] };
    round.self = Object.freeze({ round });
    const payload = decode({ schema: schemaOf(() => ({ value: round })) }, "{}") as typeof round;
    assert.ok(Object.isFrozen(payload) && Object.isFrozen(payload.list));
  });

  it("takes every shape of issue that the standard allows", () => {
    const issues = (path: unknown) => schemaOf(() => ({ issues: [{ message: "secret", path }] }) as never);
    const text = '{"a":[{"b":null}]}';
    assert.equal(undecodable({ schema: issues(undefined) }, text).path, "");
    assert.equal(undecodable({ schema: issues(["a", 0, "b"]) }, text).path, "a[0].b");
    const objects = [{ key: "a" }, { key: 0 }, { key: "b" }];
    assert.match(undecodable({ schema: issues(objects) }, text).message, /at a\[0\]\.b must .*, got null$/);
    assert.match(
      undecodable({ schema: issues(["a", 7, "toString"]) }, text).message,
      /at a\[7\]\.toString .* got nothing$/,
    );
    assert.match(undecodable({ schema: schemaOf(() => ({ issues: [] })) }, text).message, /was refused by its schema$/);
  });
});

describe("upgrading", () => {
  const upgrade = (payload: { v: number }, from: number) => ({ v: payload.v, from });

  it("runs for an older row alone, and is told the row's version", () => {
    assert.deepEqual(decode({ version: 3, upgrade }, '{"v":1}', 1), { v: 1, from: 1 });
    assert.deepEqual(decode({ version: 3, upgrade }, '{"v":1}', 2), { v: 1, from: 2 });
    assert.deepEqual(decode({ version: 3, upgrade }, '{"v":1}', 3), { v: 1 });
    assert.deepEqual(decode({ version: 3, upgrade }, '{"v":1}', 4), { v: 1 }, "a row of the future");
  });

  it("comes before the schema, and its result is frozen", () => {
    const schema = z.object({ v: z.int(), from: z.int() });
    assertFrozen(decode({ version: 2, upgrade, schema }, '{"v":1}', 1));
    assert.throws(() => decode({ version: 2, upgrade: () => ({ v: "x" }), schema }, "{}", 1), /at v must be /);
  });

  it("may change the payload that it is given, and return any JSON", () => {
    const adding = (payload: { v?: number }) => ((payload.v = 7), payload);
    assert.deepEqual(decode({ version: 2, upgrade: adding }, "{}", 1), { v: 7 });
    assert.equal(decode({ version: 2, upgrade: () => null }, "{}", 1), null);
  });

  const step = 'event "orders.placed" from version 1 to 2';
  const failures: [title: string, upgrade: () => unknown, message: string][] = [
    [
      "forgets to return",
      () => {},
      `Cannot upgrade ${step}: its upgrade must return the payload, it returned undefined`,
    ],
    [
      "returns a function",
      () => () => {},
      `Cannot upgrade ${step}: its upgrade must return the payload, it returned function`,
    ],
    [
      "is asynchronous",
      () => Promise.resolve({}),
      `Cannot upgrade ${step}: its upgrade must return the payload, it returned a promise`,
    ],
    [
      "throws",
      () => {
        throw new RangeError("no such currency");
      },
      `Cannot upgrade ${step}: its upgrade threw RangeError: no such currency`,
    ],
    [
      "throws what is no error",
      () => {
        throw "secret";
      },
      `Cannot upgrade ${step}: its upgrade threw a string`,
    ],
  ];
  for (const [title, upgrade, message] of failures) {
    it(`that ${title} fails with a sentence that names the event and the versions`, () => {
      assert.throws(() => decode({ version: 2, upgrade }, "{}", 1), (error) => {
        assert.ok(error instanceof PayloadUpgradeFailed);
        assert.equal(error.message, message);
        return true;
      });
    });
  }
});

function schemaOf(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

function assertFrozen(value: unknown): void {
  if (typeof value !== "object" || value === null) return;
  assert.ok(Object.isFrozen(value));
  for (const inner of Object.values(value)) assertFrozen(inner);
}
