import assert from "node:assert/strict";
import { z } from "zod";
import {
  anyEvent,
  assertFired,
  deliverPending,
  type DeliveryCounts,
  drainOutbox,
  event,
  type Outbox,
  receiver,
} from "../../../mod.ts";
import type { ManualClock } from "../../../src/testing/manual_clock.ts";
import { clocked } from "./clocked.ts";
import { type Cases, later } from "./given.ts";
import { onOrder, order } from "./samples.ts";

const loose = event<{ orderId: unknown }>("orders.placed");
const strict = event("orders.placed", { schema: z.object({ orderId: z.int() }) });

const V2 = event<{ orderId: number }>("orders.placed", { version: 2 });

/** A process that begins a little after what was fired by the database's clock. */
function laterOn(...args: Parameters<typeof clocked>): ReturnType<typeof clocked> {
  const process = clocked(...args);
  process.clock.advance({ seconds: 1 });
  return process;
}

/** A process that looks for work every half a minute. */
async function meeting(outbox: Outbox, clock: ManualClock, { minutes }: { minutes: number }): Promise<DeliveryCounts> {
  const sum: DeliveryCounts = {};
  for (let half = 0; half < minutes * 2; half++) {
    clock.advance({ seconds: 30, milliseconds: 1 });
    Object.assign(sum, await deliverPending(outbox));
  }
  return sum;
}

export const decodingCases: Cases = {
  "pitfalls 50 and 51: an undecodable row is dead at once, and the rest of its batch is delivered": async (given) => {
    const seen: unknown[] = [];
    const before = given.outbox([receiver(loose, "stock", () => {})]);
    await given.fire(before, loose({ orderId: "hunter2" }), loose({ orderId: 2 }), loose({ orderId: 3 }));
    const outbox = given.outbox([receiver(strict, "stock", ({ orderId }) => seen.push(orderId))]);
    assert.deepEqual(await deliverPending(outbox), { dead: 1, succeeded: 2 });
    assert.deepEqual(seen, [2, 3]);
    const [row] = await given.rows();
    assert.deepEqual([row!.status, row!.attempts], ["dead", 1]);
    assert.match(row!.lastError!, /^PayloadUndecodable: .*at orderId must be \w+, got a string$/);
  },

  "an asynchronous schema that refuses makes it dead too": async (given) => {
    const slow = event("orders.placed", {
      schema: z.object({ orderId: z.int().refine(async (n) => await Promise.resolve(n > 1)) }),
    });
    await given.fire(given.outbox([onOrder("stock")]), order(1), order(2));
    const seen: unknown[] = [];
    const outbox = given.outbox([receiver(slow, "stock", ({ orderId }) => seen.push(orderId))]);
    assert.deepEqual(await deliverPending(outbox), { dead: 1, succeeded: 1 });
    assert.deepEqual(seen, [2]);
  },

  "a schema that throws or rejects makes it dead": async (given) => {
    const broken = (validate: () => never) =>
      event("orders.placed", { schema: { "~standard": { version: 1, vendor: "broken", validate } } });
    await given.fire(given.outbox([onOrder("stock")]), order(1));
    const throwing = broken(() => {
      throw new Error("broken schema");
    });
    assert.deepEqual(await deliverPending(given.outbox([receiver(throwing, "stock", () => {})])), { dead: 1 });
    await given.fire(given.outbox([onOrder("stock")]), order(2));
    const rejecting = broken((() => Promise.reject(new Error("broken schema"))) as () => never);
    assert.deepEqual(await deliverPending(given.outbox([receiver(rejecting, "stock", () => {})])), { dead: 1 });
  },

  "each attempt gets a payload of its own, frozen all the way down": async (given) => {
    const seen: { lines: { sku: string }[] }[] = [];
    const Placed = event<{ lines: { sku: string }[] }>("orders.placed");
    const outbox = given.outbox([
      receiver(Placed, "a", (order) => {
        seen.push(order);
        order.lines.push({ sku: "smuggled" });
      }),
      receiver(Placed, "b", (order) => seen.push(order)),
    ]);
    await given.fire(outbox, Placed({ lines: [{ sku: "x" }] }));
    await deliverPending(outbox);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    assert.deepEqual(seen, Array(3).fill({ lines: [{ sku: "x" }] }));
    assert.equal(new Set(seen).size, 3);
    assert.ok(seen.every((one) => Object.isFrozen(one) && Object.isFrozen(one.lines[0])));
    assert.match((await given.row("a")).lastError!, /^TypeError/);
  },

  "pitfalls 46 and 49: upgrade works on every way in, and the schema sees what it returned": async (given) => {
    const V1 = event<{ id: number }>("orders.placed", { version: 1 });
    await given.fire(given.outbox([receiver(V1, "stock", () => {})]), V1({ id: 7 }));
    const steps: unknown[] = [];
    const V3 = event("orders.placed", {
      version: 3,
      schema: z.object({ orderId: z.string().transform((text) => `order ${text}`) }),
      upgrade: (payload, from) => {
        steps.push([payload, from]);
        return { orderId: String((payload as { id: number }).id) };
      },
    });
    const seen: unknown[] = [];
    const outbox = given.outbox([receiver(V3, "stock", (order, ctx) => seen.push([order, ctx.version]))]);
    assert.deepEqual(await assertFired(outbox, V3), [{ orderId: "order 7" }]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(seen, [[{ orderId: "order 7" }, 1]]);
    assert.deepEqual(steps, [[{ id: 7 }, 1], [{ id: 7 }, 1]]);
  },

  "upgrade is not called for a row of the declared version": async (given) => {
    const V2 = event<{ orderId: number }>("orders.placed", {
      version: 2,
      upgrade: () => {
        throw new Error("not needed");
      },
    });
    const outbox = given.outbox([receiver(V2, "stock", () => {})]);
    await given.fire(outbox, V2({ orderId: 1 }));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "pitfall 47: an upgrade that throws, returns nothing or a promise makes it dead, and says so": async (given) => {
    const failures = [
      [() => undefined, /must return the payload, it returned undefined/],
      [() => Promise.resolve({}), /it returned a promise/],
      [() => () => {}, /it returned function/],
      [() => {
        throw new RangeError("no");
      }, /its upgrade threw RangeError/],
    ] as const;
    for (const [upgrade, reason] of failures) {
      await given.database.clear();
      await given.fire(given.outbox([onOrder("stock")]), order());
      const V2 = event<{ orderId: number }>("orders.placed", { version: 2, upgrade });
      assert.deepEqual(await deliverPending(given.outbox([receiver(V2, "stock", () => {})])), { dead: 1 });
      const { lastError } = await given.row();
      assert.match(lastError!, /"orders\.placed" from version 1 to 2/);
      assert.match(lastError!, reason);
    }
  },

  "a row of a newer version is handed back unattempted, and dead once nobody took it": async (given) => {
    await given.fire(given.outbox([receiver(V2, "stock", () => {})]), V2({ orderId: 1 }));
    const { outbox: old, clock } = laterOn(given, [onOrder("stock")]);
    assert.deepEqual(await deliverPending(old), {});
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError], ["pending", 0, null]);
    const wait = Number(row.availableAt / 1000n) - clock.date.getTime();
    assert.ok(wait > 0 && wait <= 30_001, `waits ${wait} ms`);
    assert.deepEqual(await meeting(old, clock, { minutes: 14 }), {});
    assert.deepEqual(await meeting(old, clock, { minutes: 1 }), { dead: 1 });
    assert.deepEqual(await given.outcomes(), ["stock dead 0"]);
    assert.match((await given.row()).lastError!, /version 2/);
  },

  "a row that is older than the grace has the grace from when this process met it": async (given) => {
    await given.fire(given.outbox([receiver(V2, "stock", () => {})]), V2({ orderId: 1 }));
    const { outbox: old, clock } = laterOn(given, [onOrder("stock")]);
    clock.advance({ hours: 5 });
    assert.deepEqual(await meeting(old, clock, { minutes: 14 }), {});
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "a row that the newer release has in backoff is not ended by an older one": async (given) => {
    const newer = given.outbox([
      receiver(V2, "stock", () => {
        throw new Error("no luck");
      }),
    ]);
    await given.fire(newer, V2({ orderId: 1 }));
    const { outbox: old, clock } = laterOn(given, [onOrder("stock")]);
    for (const attempt of [1, 2, 3]) {
      assert.deepEqual(await meeting(old, clock, { minutes: 10 }), {}, `before attempt ${attempt}`);
      clock.advance({ minutes: 1 });
      assert.deepEqual(await deliverPending(newer, { now: clock.date }), { failed: 1 });
      clock.advance({ minutes: 11 });
    }
    assert.deepEqual(await given.outcomes(), ["stock failed 3"]);
  },

  "draining ends a row of a newer version, or of an event that is not declared, at once": async (given) => {
    const audit = receiver(anyEvent, "audit", () => {});
    await given.fire(given.outbox([receiver(V2, "stock", () => {}), audit]), V2({ orderId: 1 }));
    assert.deepEqual(await drainOutbox(given.outbox([onOrder("stock")])), { dead: 1, orphaned: 1 });
    await given.fire(given.outbox([audit], { events: [V2] }), V2({ orderId: 2 }));
    assert.deepEqual(await drainOutbox(given.outbox([audit])), { dead: 1 });
  },

  "no attempt is recorded that did not happen: an event that nobody here declares is postponed": async (given) => {
    const audit = receiver(anyEvent, "audit", () => {});
    await given.fire(given.outbox([audit], { events: [V2] }), V2({ orderId: 1 }));
    const { outbox: old, clock } = laterOn(given, [audit]);
    assert.deepEqual(await meeting(old, clock, { minutes: 14 }), {});
    assert.deepEqual(await given.outcomes(), ["audit pending 0"]);
    assert.deepEqual(given.logs.lines("warning"), []);
    const newer = given.outbox([audit], { events: [V2] });
    assert.deepEqual(await deliverPending(newer, { now: later({ hours: 1 }) }), { succeeded: 1 });
  },

  "no attempt is recorded that did not happen: a receiver's key that belongs to another event here": async (given) => {
    await given.fire(given.outbox([onOrder("mail")]), order());
    const Other = event<null>("other.happened");
    const { outbox, clock } = laterOn(given, [receiver(Other, "mail", () => {})], { events: [loose] });
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await meeting(outbox, clock, { minutes: 14 }), {});
    assert.deepEqual(await given.outcomes(), ["mail pending 0"]);
    assert.deepEqual(await meeting(outbox, clock, { minutes: 1 }), { dead: 1 });
    assert.deepEqual(await given.outcomes(), ["mail dead 0"]);
    assert.match((await given.row()).lastError!, /receiver "mail" listens to event "orders\.placed"/);
  },

  "a newer release takes the row that an older one handed back": async (given) => {
    const newer = given.outbox([receiver(V2, "stock", () => {})]);
    await given.fire(newer, V2({ orderId: 1 }));
    await deliverPending(given.outbox([onOrder("stock")]));
    assert.deepEqual(await deliverPending(newer, { now: later({ minutes: 1 }) }), { succeeded: 1 });
  },
};
