import assert from "node:assert/strict";
import * as v from "valibot";
import { z } from "zod";
import { deliverPending, event, fire, PayloadRefused, receiver, type StandardSchema } from "../../../mod.ts";
import type { Cases } from "./given.ts";

const secret = "hunter2";
const inZod = z.object({ orderId: z.int(), lines: z.array(z.object({ price: z.string().regex(/^\d/) })) });
const inValibot = v.object({
  orderId: v.pipe(v.number(), v.integer()),
  lines: v.array(v.object({ price: v.pipe(v.string(), v.regex(/^\d/)) })),
});
const inZodAsync = inZod.refine(async (order) => {
  await Promise.resolve();
  return order.orderId !== 13;
});

const schemas: Readonly<Record<string, StandardSchema>> = {
  "zod": inZod as StandardSchema,
  "valibot": inValibot as StandardSchema,
  "zod, asynchronous": inZodAsync as StandardSchema,
};

const cases: Record<string, Cases[string]> = {};
for (const [library, schema] of Object.entries(schemas)) {
  const Placed = event("orders.placed", { schema });
  const good = { orderId: 1, lines: [{ price: "1.00" }] };

  cases[`${library}: a refusal names the path and the type, never the value, and the transaction stays usable`] =
    async (given) => {
      const outbox = given.outbox([], { events: [Placed] });
      const bad = [
        [{ ...good, orderId: secret }, "orderId", /got a string/],
        [{ ...good, lines: [{ price: "1" }, { price: secret }] }, "lines[1].price", /got a string/],
        [{ orderId: 1 }, "lines", /got nothing/],
        [secret, "", /got a string/],
      ] as const;
      await outbox.transaction(async (tx) => {
        for (const [payload, path, reason] of bad) {
          await assert.rejects(fire(tx, Placed(payload as never)), (error: unknown) => {
            assert.ok(error instanceof PayloadRefused, String(error));
            assert.equal(error.path, path);
            assert.match(error.message, reason);
            assert.ok(!String(error.stack).includes(secret) && error.cause === undefined, error.message);
            return true;
          });
        }
        await fire(tx, Placed(good as never));
      });
      assert.equal((await given.events()).length, 1);
    };

  cases[`${library}: what fits is delivered`] = async (given) => {
    const seen: unknown[] = [];
    const outbox = given.outbox([receiver(Placed, "stock", (order) => seen.push(order))]);
    await given.fire(outbox, Placed(good as never));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(seen, [good]);
  };
}

export const schemaCases: Cases = {
  ...cases,

  "an asynchronous check that fails refuses the fire": async (given) => {
    const Placed = event("orders.placed", { schema: inZodAsync });
    const outbox = given.outbox([], { events: [Placed] });
    await assert.rejects(
      outbox.transaction((tx) => fire(tx, Placed({ orderId: 13, lines: [] }))),
      { name: "PayloadRefused" },
    );
    await given.nothing();
  },

  "the input is stored, and receivers of every mode get the output": async (given) => {
    const Placed = event("orders.placed", {
      schema: z.object({ at: z.iso.datetime().transform((text) => new Date(text)), note: z.string().default("none") }),
      key: (order) => `year-${order.at.getUTCFullYear()}`,
    });
    const seen: unknown[] = [];
    const see = (order: { at: Date; note: string }) => seen.push([order.at.getTime(), order.note]);
    const outbox = given.outbox([
      receiver(Placed, "inline", see, { mode: "inline" }),
      receiver(Placed, "on-commit", see, { mode: "on-commit" }),
      receiver(Placed, "durable", see),
    ]);
    await given.fire(outbox, Placed({ at: "2020-02-03T04:05:06Z" }));
    await deliverPending(outbox);
    const [row] = await given.events();
    assert.deepEqual(JSON.parse(row!.payload), { at: "2020-02-03T04:05:06Z" });
    assert.equal(row!.key, "year-2020");
    assert.deepEqual(seen, Array(3).fill([Date.UTC(2020, 1, 3, 4, 5, 6), "none"]));
  },

  "a schema that throws refuses the fire with its error": async (given) => {
    const thrown = new Error("broken schema");
    const schema: StandardSchema = {
      "~standard": {
        version: 1,
        vendor: "broken",
        validate: () => {
          throw thrown;
        },
      },
    };
    const Placed = event("orders.placed", { schema });
    const outbox = given.outbox([], { events: [Placed] });
    await assert.rejects(outbox.transaction((tx) => fire(tx, Placed({} as never))), thrown);
    await given.nothing();
  },
};
