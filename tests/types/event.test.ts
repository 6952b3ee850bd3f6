// Checked by `deno check`: each `@ts-expect-error` fails when the line below it compiles.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anyEvent, event, type EventDefinition, type EventInstance, receiver } from "@owed/outbox";
import * as v from "valibot";
import { z } from "zod";

/** Compiles only when both types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
const same = <A, B>(..._proof: Same<A, B> extends true ? [] : ["the types differ"]) => {};

const schema = z.object({ orderId: z.int(), at: z.string().transform((text) => new Date(text)) });

describe("the types of an event", () => {
  it("take the schema's input and give its output", () => {
    const Placed = event("orders.placed", { schema, key: (order) => `order-${order.orderId}-${order.at.getTime()}` });
    same<typeof Placed, EventDefinition<z.input<typeof schema>, z.output<typeof schema>>>();
    Placed({ orderId: 1, at: "2026-01-02" });
    // @ts-expect-error the input is a string, the Date is what receivers get
    Placed({ orderId: 1, at: new Date() });
    // @ts-expect-error a number is wanted
    Placed({ orderId: "1", at: "2026-01-02" });
    // @ts-expect-error nothing may be missing
    Placed({ orderId: 1 });
    // @ts-expect-error nothing may be added
    Placed({ orderId: 1, at: "2026-01-02", total: 5 });
    receiver(Placed, "a", (order) => {
      same<typeof order, { orderId: number; at: Date }>();
    });
    // @ts-expect-error the key is made from the output, whose `at` is a Date
    event("x", { schema, key: (order) => order.at.slice(1) });
    // @ts-expect-error a key is a string
    event("x", { schema, key: (order) => order.orderId });
    assert.equal(Placed.version, 1);
  });

  it("are the same with valibot", () => {
    const Placed = event("orders.placed", {
      schema: v.object({ total: v.pipe(v.string(), v.transform(Number)) }),
      key: (order) => order.total.toFixed(2),
    });
    Placed({ total: "49.00" });
    // @ts-expect-error the input is a string
    Placed({ total: 49 });
    receiver(Placed, "a", (order) => {
      same<typeof order.total, number>();
    });
    assert.ok(Placed.schema);
  });

  it("are what is named where there is no schema", () => {
    const Placed = event<{ orderId: number; note?: string; lines: { sku: string }[] }>("orders.placed", {
      key: (order) => String(order.orderId),
    });
    const instance: EventInstance = Placed({ orderId: 1, lines: [{ sku: "tea" }] });
    // @ts-expect-error a number is wanted
    Placed({ orderId: "1", lines: [] });
    // @ts-expect-error nothing may be missing
    Placed({ orderId: 1 });
    assert.equal(instance.definition.name, "orders.placed");
  });

  it("are any JSON where nothing is said", () => {
    const Anything = event("anything");
    for (const payload of [1, "a", null, true, [1, { a: null }], { a: { b: [] } }]) Anything(payload);
    // @ts-expect-error no JSON
    Anything(new Date());
    // @ts-expect-error no JSON
    Anything(1n);
    // @ts-expect-error no JSON
    Anything({ f: () => {} });
    // @ts-expect-error no JSON
    Anything(undefined);
    assert.equal(Anything.name, "anything");
  });

  it("refuse to be fired with what JSON cannot carry, however deep", () => {
    const at = event<{ at: Date }>("x");
    // @ts-expect-error a Date would come back as a string
    at({ at: new Date() });
    const nested = event<{ list: { at: Date }[] }>("x");
    // @ts-expect-error a Date would come back as a string
    nested({ list: [{ at: new Date() }] });
    const big = event<{ total: bigint }>("x");
    // @ts-expect-error JSON has no bigint
    big({ total: 1n });
    const map = event<{ map: Map<string, number> }>("x");
    // @ts-expect-error a Map would come back empty
    map({ map: new Map() });
    const set = event<{ set: Set<string> }>("x");
    // @ts-expect-error a Set would come back empty
    set({ set: new Set() });
    const method = event<{ f: () => void }>("x");
    // @ts-expect-error JSON has no functions
    method({ f: () => {} });
    const bytes = event<{ bytes: Uint8Array }>("x");
    // @ts-expect-error bytes would come back as an object
    bytes({ bytes: new Uint8Array() });
    assert.equal(typeof at, "function");
  });

  it("know the options and their shapes", () => {
    // @ts-expect-error a bare number has no unit
    assert.throws(() => event("x", { retention: 90 }));
    // @ts-expect-error unknown unit
    assert.throws(() => event("x", { retention: { months: 3 } }));
    // @ts-expect-error unknown word
    assert.throws(() => event("x", { retention: "forever" }));
    // @ts-expect-error unknown option
    assert.throws(() => event("x", { retries: 3 }));
  });

  it("of every event are JSON", () => {
    const audit = receiver(anyEvent, "audit", (payload, ctx) => {
      // @ts-expect-error nobody knows its shape
      void payload.orderId;
      return ctx.eventName;
    });
    assert.equal(audit.event, anyEvent);
  });
});
