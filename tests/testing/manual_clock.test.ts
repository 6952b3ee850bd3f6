import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deliverPending, type DeliveryContext, outboxHealth, receiver, runRelay, settled } from "../../mod.ts";
import { drainOutbox, ManualClock } from "../../src/testing/mod.ts";
import { fired, onOrder, opened, order, OrderPlaced } from "./given.ts";

const start = new Date("2030-01-01T00:00:00Z");

describe("a manual clock", () => {
  it("stands still until it is moved, and then sleepers whose time has come wake up", async () => {
    const clock = new ManualClock(start);
    assert.equal(clock.date.getTime(), start.getTime());
    const awake: string[] = [];
    const sleeping = [
      clock.sleep(1000).then(() => awake.push("first")),
      clock.sleep(3000).then(() => awake.push("second")),
    ];
    clock.advance({ milliseconds: 999 });
    await Promise.resolve();
    assert.deepEqual(awake, []);
    clock.advance({ milliseconds: 1 });
    await sleeping[0];
    assert.deepEqual(awake, ["first"]);
    clock.advance({ hours: 1 });
    await sleeping[1];
    assert.deepEqual(awake, ["first", "second"]);
    assert.equal(clock.date.toISOString(), "2030-01-01T01:00:01.000Z");
  });

  it("does not keep whoever sleeps for nothing, or gives up", async () => {
    const clock = new ManualClock();
    await clock.sleep(0);
    await clock.sleep(1000, AbortSignal.abort());
    const stop = new AbortController();
    const sleeping = clock.sleep(1000, stop.signal);
    stop.abort();
    await sleeping;
  });

  it("cannot be moved back, by a bare number, or start at no moment", () => {
    const clock = new ManualClock(start);
    assert.throws(() => clock.advance({ seconds: -1 }), RangeError);
    assert.throws(() => clock.advance(5 as never), TypeError);
    assert.throws(() => new ManualClock("now" as never), TypeError);
    assert.equal(clock.date.getTime(), start.getTime());
  });

  it("lets a scheduled delivery come due", async () => {
    const clock = new ManualClock(start);
    const dues: Date[] = [];
    const expire = receiver(OrderPlaced, "expire", (_, ctx: DeliveryContext) => dues.push(ctx.dueAt), {
      due: { hours: 48 },
    });
    await using outbox = opened([expire as never], { clock });
    await fired(outbox, order());
    clock.advance({ hours: 47 });
    assert.deepEqual(await drainOutbox(outbox), {});
    assert.equal((await outboxHealth(outbox)).scheduled, 1);
    clock.advance({ hours: 1 });
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
    assert.deepEqual(dues, [new Date("2030-01-03T00:00:00Z")]);
  });

  it("lets a backoff pass", async () => {
    const clock = new ManualClock(start);
    let attempts = 0;
    const mail = onOrder("mail", () => {
      if (++attempts === 1) throw new Error("no luck");
    }, { backoff: { base: { hours: 1 }, cap: { hours: 1 } } });
    await using outbox = opened([mail], { clock });
    await fired(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    clock.advance({ hours: 1 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  });

  it("lets a dead worker's lease lapse", async () => {
    const clock = new ManualClock(start);
    await using outbox = opened([onOrder("mail")], { clock });
    await fired(outbox, order());
    const receivers = [{ key: "mail", leaseMs: 60_000 }];
    const claimed = await outbox.storage.claim({ worker: "dead", receivers, limit: 1, now: clock.now() });
    assert.equal(claimed.length, 1);
    clock.advance({ seconds: 59 });
    assert.deepEqual(await deliverPending(outbox), {});
    clock.advance({ seconds: 2 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.equal((await outbox.storage.findDeliveries({}))[0]?.lapses, 1);
  });

  it("is the clock of the events and of inline receivers too", async () => {
    const clock = new ManualClock(start);
    const seen: Date[] = [];
    const check = receiver(OrderPlaced, "check", (_, ctx: DeliveryContext) => seen.push(ctx.occurredAt), {
      mode: "inline",
    });
    await using outbox = opened([check as never], { clock });
    await fired(outbox, order());
    const [row] = await outbox.storage.findEvents({});
    assert.deepEqual([seen, row?.occurredAt], [[start], BigInt(start.getTime()) * 1000n]);
  });

  it("drives a relay", async () => {
    const clock = new ManualClock(start);
    const ran = Promise.withResolvers<void>();
    const stop = new AbortController();
    await using outbox = opened([onOrder("mail", () => ran.resolve(), { due: { hours: 1 } })], { clock });
    const ready = Promise.withResolvers<void>();
    const running = runRelay(outbox, { signal: stop.signal, onReady: ready.resolve });
    await ready.promise;
    await fired(outbox, order());
    clock.advance({ hours: 1 });
    await ran.promise;
    stop.abort();
    assert.deepEqual(await running, { succeeded: 1 });
  });

  it("does not hold up whoever waits for an event to be settled", async () => {
    await using outbox = opened([onOrder("mail")], { clock: new ManualClock(start) });
    const [id] = await fired(outbox, order());
    const waiting = settled(outbox, id!);
    await drainOutbox(outbox);
    assert.equal((await waiting)[0]?.status, "succeeded");
  });
});
