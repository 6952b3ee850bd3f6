import assert from "node:assert/strict";
import { z } from "zod";
import {
  deliverOne,
  deliverPending,
  type DeliveryContext,
  drainOutbox,
  type DueFunction,
  event,
  outboxHealth,
  receiver,
} from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { clocked } from "./clocked.ts";
import { type Cases, type Given, later, rejection } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

const twoDays = { due: { hours: 48 } } as const;
type Due = DueFunction<{ orderId: number }>;

/** The moments of the only row, in milliseconds from where the clock stands. */
async function momentsOf(given: Given, clock: { now(): bigint }) {
  const { availableAt, dueAt } = await given.row();
  return [availableAt, dueAt!].map((moment) => Number(moment - clock.now()) / 1000);
}

export const dueCases: Cases = {
  "pitfall 99: a row is written at fire, and is claimable at its moment and not before": async (given) => {
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, twoDays)]);
    await given.fire(outbox, order());
    assert.deepEqual(await given.outcomes(), ["expire pending 0"]);
    assert.deepEqual(await momentsOf(given, clock), [172_800_000, 172_800_000]);
    clock.advance({ hours: 48, milliseconds: -0.001 });
    assert.deepEqual(await deliverPending(outbox), {});
    clock.advance({ milliseconds: 0.001 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "by the database's clock it counts from when the event is recorded": async (given) => {
    const outbox = given.outbox([onOrder("expire", () => {}, twoDays)]);
    const before = Date.now();
    await given.fire(outbox, order());
    const due = Number((await given.row()).dueAt) / 1000 - 172_800_000;
    assert.ok(due >= before - 1000 && due <= Date.now() + 1000, `${due - before} ms`);
    assert.deepEqual(await deliverPending(outbox), {});
  },

  "a function gives a time, by the event": async (given) => {
    const due: Due = ({ orderId }) => ({ hours: orderId });
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, { due })]);
    await given.fire(outbox, order(3));
    assert.deepEqual(await momentsOf(given, clock), [10_800_000, 10_800_000]);
  },

  "or a moment, at once or later, as a Date or a Temporal.Instant": async (given) => {
    const moment = new Date("2100-01-01T00:00:00.123Z");
    const epochMilliseconds = moment.getTime();
    const dues: Due[] = [() => moment, () => ({ epochMilliseconds }), () => Promise.resolve(moment)];
    const outbox = given.outbox(dues.map((due, i) => onOrder(`expire ${i}`, () => {}, { due })));
    await given.fire(outbox, order());
    for (const row of await given.rows()) {
      assert.deepEqual([row.dueAt, row.availableAt], Array(2).fill(BigInt(epochMilliseconds) * 1000n));
    }
  },

  "a moment that has passed, or no time at all, is due at once": async (given) => {
    const dues: Due[] = [() => new Date(Date.now() - 86_400_000), () => ({ seconds: 0 })];
    const outbox = given.outbox(dues.map((due, i) => onOrder(`expire ${i}`, () => {}, { due })));
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
  },

  "the function sees the payload as a receiver does, the context, and the firing transaction": async (given) => {
    const Offered = event("offers.made", {
      key: () => "offer-1",
      schema: z.object({ until: z.iso.datetime().transform((text) => new Date(text)) }),
    });
    const seen: unknown[] = [];
    const due = async (offer: { until: Date }, ctx: DeliveryContext) => {
      await given.note((await ctx.transaction()).client, "asked");
      seen.push(ctx.eventName, ctx.receiverKey, ctx.key, ctx.attempt, ctx.deliveryId, ctx.target);
      return offer.until;
    };
    const outbox = given.outbox([receiver(Offered, "expire", () => {}, { due })]);
    await given.fire(outbox, Offered({ until: "2100-01-01T00:00:00Z" }));
    assert.deepEqual(seen, ["offers.made", "expire", "offer-1", 1, "", ""]);
    assert.equal((await given.row()).dueAt, BigInt(Date.parse("2100-01-01T00:00:00Z")) * 1000n);
    assert.deepEqual(await given.notes(), ["asked"]);
  },

  "an answer that is no moment fails the fire, by name, and nothing is written": async (given) => {
    const answers: [unknown, RegExp][] = [
      [48, /due of receiver "expire" returned: .* bare number 48/],
      [undefined, /returned: .* got undefined/],
      [null, /returned: .* got null/],
      ["tomorrow", /returned: .* got string/],
      [{ hours: -1 }, /returned: expected from nothing to 100 years, got -3600000 ms/],
      [{ days: 1e9 }, /returned: expected from nothing to 100 years/],
      [{ hours: NaN }, /returned: hours must be a finite number/],
      [new Date(NaN), /returned: expected a valid Date/],
    ];
    for (const [answer, says] of answers) {
      const outbox = given.outbox([onOrder("stock"), onOrder("expire", () => {}, { due: () => answer as never })]);
      assert.match((await rejection(given.fire(outbox, order()))).message, says);
      await given.nothing();
    }
  },

  "what the function throws fails the fire, and nothing is written": async (given) => {
    const error = new Error("no such offer");
    const outbox = given.outbox([
      onOrder("expire", () => {}, { due: () => Promise.reject(error) }),
    ]);
    assert.equal(await rejection(given.fire(outbox, order())), error);
    await given.nothing();
  },

  "each target of a fan-out is due then": async (given) => {
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, { ...twoDays, targets: () => ["a", "b"] })]);
    await given.fire(outbox, order());
    assert.deepEqual((await given.rows()).map((row) => row.dueAt! - clock.now()), Array(2).fill(172_800_000_000n));
  },

  "the context tells the moment; without one it is when the row became owed": async (given) => {
    const seen: Date[] = [];
    const watch = (_: unknown, ctx: DeliveryContext) => seen.push(ctx.dueAt);
    const { outbox, clock } = clocked(given, [onOrder("expire", watch, twoDays), onOrder("stock", watch)]);
    const fired = clock.date.getTime();
    await given.fire(outbox, order());
    clock.advance({ hours: 60 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(seen.map((due) => due.getTime() - fired).sort((a, b) => a - b), [0, 172_800_000]);
  },

  "an eager receiver with a moment to come waits for the relay": async (given) => {
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, { ...twoDays, eager: true })]);
    await given.fire(outbox, order());
    assert.deepEqual(await given.outcomes(), ["expire pending 0"]);
    clock.advance({ hours: 48 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "one whose moment has come is attempted at the commit": async (given) => {
    const due: Due = () => ({ seconds: 0 });
    await given.fire(given.outbox([onOrder("expire", () => {}, { due, eager: true })]), order());
    assert.deepEqual(await given.outcomes(), ["expire succeeded 1"]);
  },

  "pitfall 99: draining leaves it alone, and now moves the claims and not the receiver's clock": async (given) => {
    const seen: [dueIn: number, clockAt: number][] = [];
    const outbox = given.outbox([
      onOrder("expire", (_, ctx) => seen.push([ctx.dueAt.getTime() - Date.now(), Date.now()]), twoDays),
      onOrder("stock"),
    ]);
    const started = Date.now();
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 47 }) }), {});
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 48, minutes: 1 }) }), { succeeded: 1 });
    const [[dueIn, clockAt]] = seen as [[number, number]];
    assert.ok(Math.abs(dueIn - 172_800_000) < 60_000, `${dueIn} ms`);
    assert.ok(clockAt - started < 60_000);
    const completed = Number((await given.row("expire")).completedAt) / 1000;
    assert.ok(Math.abs(completed - Date.now()) < 60_000, "It is completed on the real clock");
  },

  "pitfall 99: draining skips the backoff of a scheduled row whose moment has come": async (given) => {
    const outbox = given.outbox([failing("expire", { ...twoDays, maxAttempts: 3 })]);
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), {});
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 49 }) }), { failed: 2, dead: 1 });
  },

  "a row scheduled for later is not owed, and has no age": async (given) => {
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, twoDays), onOrder("stock")]);
    await given.fire(outbox, order());
    const due = clock.date.getTime() + 172_800_000;
    const before = await outboxHealth(outbox);
    assert.deepEqual([before.owed, before.scheduled], [1, 1]);
    await deliverPending(outbox);
    const waiting = await outboxHealth(outbox);
    assert.deepEqual([waiting.owed, waiting.scheduled, waiting.oldestOwedSince], [0, 1, null]);
    clock.advance({ hours: 48 });
    const after = await outboxHealth(outbox);
    // Its age is counted from its moment: else the alert would sound the very instant that it comes due.
    assert.deepEqual([after.owed, after.scheduled, after.oldestOwedSince?.getTime()], [1, 0, due]);
  },

  "a relay wakes when it is due": async (given) => {
    const { outbox, clock } = clocked(given, [onOrder("expire", () => {}, { due: { minutes: 10 } })]);
    await using _relay = await given.relay(outbox);
    await clock.asleepAfter(() => given.fire(outbox, order()));
    await clock.asleepAfter(() => clock.advance({ minutes: 9 }));
    assert.deepEqual(await given.outcomes(), ["expire pending 0"]);
    // The poll is an hour: only the moment itself can end the sleep.
    await waitFor(async () => {
      clock.advance({ seconds: 20 });
      return (await given.row()).status === "succeeded";
    }, { what: "the moment" });
    const { completedAt, dueAt } = await given.row();
    assert.ok(completedAt! - dueAt! < 600_000_000n, `${completedAt! - dueAt!} us late`);
  },

  "deliverOne runs it before its moment": async (given) => {
    const outbox = given.outbox([onOrder("expire", () => {}, twoDays)]);
    await given.fire(outbox, order());
    assert.equal(await deliverOne(outbox, (await given.row()).id), "succeeded");
  },
};
