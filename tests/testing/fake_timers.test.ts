import FakeTimers from "@sinonjs/fake-timers";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { deliverPending, runRelay, settled } from "../../mod.ts";
import { assertFired, drainOutbox } from "../../src/testing/mod.ts";
import { fired, onOrder, opened, order, OrderPlaced } from "./given.ts";

const epoch = Date.UTC(2030, 0, 1);

/** The clock of @sinonjs/fake-timers in the place of the runtime's, until it is disposed of. */
function faked() {
  const clock = FakeTimers.install({ now: epoch });
  return Object.assign(clock, { [Symbol.dispose]: () => clock.uninstall() });
}

describe("under a fake clock", () => {
  it("a scheduled delivery comes due when the clock is moved", async () => {
    using clock = faked();
    await using outbox = opened([onOrder("expire", () => {}, { due: { hours: 48 } })]);
    await fired(outbox, order());
    await clock.tickAsync(47 * 3_600_000);
    assert.deepEqual(await drainOutbox(outbox), {});
    await clock.tickAsync(3_600_000);
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
  });

  it("an outbox that was opened before the clock was replaced goes by it too", async () => {
    await using outbox = opened([onOrder("expire", () => {}, { due: { days: 1 } })]);
    await fired(outbox, order());
    using clock = faked();
    clock.setSystemTime(Date.UTC(2100, 0, 1));
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
  });

  it("a backoff passes and a lease lapses", async () => {
    using clock = faked();
    let attempts = 0;
    const mail = onOrder("mail", () => {
      if (++attempts === 1) throw new Error("no luck");
    }, { backoff: { base: { minutes: 1 }, cap: { minutes: 1 } } });
    await using outbox = opened([mail]);
    await fired(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    clock.setSystemTime(epoch + 60_000);
    const receivers = [{ key: "mail", leaseMs: 60_000 }];
    const now = BigInt(Date.now()) * 1000n;
    assert.equal((await outbox.storage.claim({ worker: "dead", receivers, limit: 1, now })).length, 1);
    assert.deepEqual(await deliverPending(outbox), {});
    clock.setSystemTime(epoch + 120_001);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  });

  it("events happen when the clock says", async () => {
    using _clock = faked();
    await using outbox = opened([], { events: [OrderPlaced] });
    await fired(outbox, order());
    await assertFired(outbox, OrderPlaced, { times: 1 });
    assert.equal((await outbox.storage.findEvents({}))[0]?.occurredAt, BigInt(epoch) * 1000n);
  });

  it("a receiver's timeout is reached when the clock is moved", async () => {
    using clock = faked();
    const begun = Promise.withResolvers<void>();
    const slow = onOrder("slow", () => {
      begun.resolve();
      return new Promise(() => {});
    }, { timeout: { minutes: 5 }, maxAttempts: 1 });
    await using outbox = opened([slow]);
    await fired(outbox, order());
    const delivering = deliverPending(outbox);
    await begun.promise;
    await clock.tickAsync(300_000);
    assert.deepEqual(await delivering, { dead: 1 });
  });

  it("a relay sleeps and wakes by it", async () => {
    using clock = faked();
    const ran = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const stop = new AbortController();
    await using outbox = opened([onOrder("expire", () => ran.resolve(), { due: { minutes: 1 } })]);
    const running = runRelay(outbox, { signal: stop.signal, onReady: ready.resolve });
    await ready.promise;
    await fired(outbox, order());
    await clock.tickAsync(61_000);
    await ran.promise;
    stop.abort();
    assert.deepEqual(await running, { succeeded: 1 });
  });

  it("whoever waits for an event to be settled does not wait for the clock", async () => {
    using _clock = faked();
    await using outbox = opened([onOrder("mail")]);
    const [id] = await fired(outbox, order());
    const waiting = settled(outbox, id!);
    await drainOutbox(outbox);
    assert.equal((await waiting)[0]?.status, "succeeded");
  });
});
