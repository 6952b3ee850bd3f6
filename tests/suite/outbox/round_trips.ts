import assert from "node:assert/strict";
import { z } from "zod";
import { deliverPending, event, PayloadRefused, receiver } from "../../../mod.ts";
import { type Cases, type Given, rejection } from "./given.ts";

/** What a receiver is given for this payload. */
async function delivered(given: Given, schema: z.ZodType, payload: unknown): Promise<unknown> {
  const Fired = event("round.trip", { schema });
  const seen: unknown[] = [];
  const outbox = given.outbox([receiver(Fired, "watch", (value) => seen.push(value))]);
  await given.fire(outbox, Fired(payload as never));
  assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  return seen[0];
}

/** The refusal of a fire of this payload. */
async function refused(given: Given, schema: z.ZodType, payload: unknown): Promise<PayloadRefused> {
  const Fired = event("round.trip", { schema });
  const error = await rejection(given.fire(given.outbox([], { events: [Fired] }), Fired(payload as never)));
  assert.ok(error instanceof PayloadRefused, String(error));
  return error;
}

const instant = z.iso.datetime({ offset: true });

export const roundTripCases: Cases = {
  "pitfall 39: an instant comes back as it was written, in UTC with Z and with an offset": async (given) => {
    for (const at of ["2020-02-29T23:59:60.000Z", "2020-02-29T23:59:59Z", "2020-03-01T05:29:59+05:30"]) {
      assert.deepEqual(await delivered(given, z.object({ at: z.string() }), { at }), { at });
    }
    const parsed = await delivered(given, z.object({ at: instant.transform((text) => new Date(text).getTime()) }), {
      at: "2020-03-01T05:29:59+05:30",
    });
    assert.deepEqual(parsed, { at: Date.UTC(2020, 1, 29, 23, 59, 59) });
  },

  "pitfall 41: a payload's microseconds are kept, since a Date, which has none, is refused": async (given) => {
    const payload = { at: "2020-02-29T23:59:59.123456Z", time: "23:59:59.123456" };
    assert.deepEqual(await delivered(given, z.object({ at: instant, time: z.iso.time() }), payload), payload);
    const error = await refused(given, z.object({ at: z.any() }), { at: new Date() });
    assert.deepEqual([error.eventName, error.path], ["round.trip", "at"]);
  },

  "pitfall 42: what cannot be written is refused with the event and the path, in the package's own error": async (
    given,
  ) => {
    const error = await refused(given, z.any(), { lines: [{ amount: 1n }] });
    assert.match(error.message, /"round\.trip".*lines\[0\]\.amount.*bigint/);
    await given.nothing();
  },

  "pitfall 43: tuples of a fixed and of any length come back, nested too; another length is refused, not padded":
    async (
      given,
    ) => {
      const pair = z.tuple([z.string(), z.int()]);
      const schema = z.object({ pair, pairs: z.array(pair), many: z.tuple([z.string()], z.int()) });
      const payload = { pair: ["a", 1], pairs: [["b", 2], ["c", 3]], many: ["d", 4, 5, 6] };
      assert.deepEqual(await delivered(given, schema, payload), payload);
      for (const wrong of [["a"], ["a", 1, 2], []]) {
        const error = await refused(given, schema, { ...payload, pair: wrong });
        assert.equal(error.path.startsWith("pair"), true, error.path);
      }
    },

  "pitfall 45: what fire lets in a receiver can be given, and what it could not be given is refused": async (given) => {
    const kinds: [schema: z.ZodType, good: unknown, bad: unknown][] = [
      [z.string(), "", 1],
      [z.int(), -(2 ** 53 - 1), 0.5],
      [z.number(), 1e300, "1"],
      [z.boolean(), false, 0],
      [z.null(), null, "null"],
      [z.literal(["a", "b"]), "b", "c"],
      [z.enum(["a", "b"]), "a", "A"],
      [z.uuid(), "01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d"],
      [z.array(z.int()), [1, 2], [1, "2"]],
      [z.record(z.string(), z.int()), { __proto: 1 }, { a: "1" }],
      [z.object({ a: z.string().optional() }), {}, { a: 1 }],
      [z.union([z.string(), z.int()]), 7, true],
      [z.object({ amount: z.string().regex(/^\d+\.\d\d$/) }), { amount: "49.00" }, { amount: 49 }],
      [z.object({ nested: z.object({ list: z.array(z.null()) }) }), { nested: { list: [null] } }, { nested: [] }],
    ];
    for (const [schema, good, bad] of kinds) {
      assert.deepEqual(await delivered(given, z.object({ v: schema }), { v: good }), { v: good });
      const { path } = await refused(given, z.object({ v: schema }), { v: bad });
      assert.ok(path.startsWith("v"), path);
    }
  },

  "pitfall 50: a value that no enumeration has is refused at fire, and makes a stored row dead with the path": async (
    given,
  ) => {
    const Loose = event<{ size: string }>("round.trip");
    await given.fire(given.outbox([receiver(Loose, "watch", () => {})]), Loose({ size: "huge" }));
    const Strict = event("round.trip", { schema: z.object({ size: z.enum(["small", "large"]) }) });
    const outbox = given.outbox([receiver(Strict, "watch", () => assert.fail("given an illegal value"))]);
    await assert.rejects(given.fire(outbox, Strict({ size: "huge" as never })), { name: "PayloadRefused" });
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    // The path and what it found, and never the value itself: it may be somebody's.
    assert.match((await given.row()).lastError!, /^PayloadUndecodable: .*at size must be .* got a string/);
  },
};
