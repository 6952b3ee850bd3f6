import assert from "node:assert/strict";
import {
  deliverPending,
  type DeliveryFailure,
  drainOutbox,
  type Duration,
  NotYet,
  type ReceiverOptions,
  replayEvents,
  RetryAfter,
} from "../../../mod.ts";
import { clocked, drawn } from "./clocked.ts";
import { type Cases, type Given, later, upTo } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

const bounded: ReceiverOptions = { giveUpAfter: { days: 2 } };
const deferral = (wait: Duration = { seconds: 60 }, reason = "daily quota") =>
  new RetryAfter(wait, { reason, counts: false });

/** The row's wait from where the clock stands, in milliseconds. */
async function waitOf(given: Given, clock: { now(): bigint }): Promise<number> {
  return Number((await given.row()).availableAt - clock.now()) / 1000;
}

export const deferralCases: Cases = {
  "pitfall 83: with a budget of one it is deferred twice, and the next run is given the attempt again": async (
    given,
  ) => {
    const attempts: number[] = [];
    const { outbox, clock } = clocked(given, [
      onOrder("mail", (_, ctx) => {
        attempts.push(ctx.attempt);
        throw deferral();
      }, { ...bounded, maxAttempts: 1 }),
    ]);
    await given.fire(outbox, order());
    for (const n of upTo(2)) {
      assert.deepEqual(await deliverPending(outbox), { failed: 1 });
      assert.deepEqual(await given.outcomes(), ["mail failed 0"]);
      assert.equal(attempts.length, n);
      clock.advance({ hours: 1 });
    }
    assert.deepEqual(attempts, [1, 1]);
  },

  "it is recorded and told as a failure, with the attempt of the context": async (given) => {
    const told: DeliveryFailure[] = [];
    const outbox = given.outbox([
      failing("mail", { ...bounded, onFailure: (failure) => told.push(failure) }, deferral()),
    ]);
    const [eventId] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const row = await given.row();
    const { status, attempts, lapses, lastError, completedAt } = row;
    assert.deepEqual({ status, attempts, lapses, lastError, completedAt }, {
      status: "failed",
      attempts: 0,
      lapses: 0,
      lastError: "RetryAfter: daily quota",
      completedAt: null,
    });
    assert.deepEqual(told, [{
      deliveryId: row.id,
      eventId,
      eventName: "orders.placed",
      receiverKey: "mail",
      target: "",
      attempt: 1,
      status: "failed",
      error: "RetryAfter: daily quota",
    }]);
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver mail failed delivery ${row.id} on attempt 1 with RetryAfter; the row is failed`,
    ]);
  },

  "the row is still owed its whole budget for real failures": async (given) => {
    let runs = 0;
    const seen: number[] = [];
    const { outbox, clock } = clocked(given, [
      onOrder("mail", (_, ctx) => {
        seen.push(ctx.attempt);
        // Deferred, failed, deferred, failed, ...
        if (++runs % 2 === 1) throw deferral();
        throw new Error("no luck");
      }, { ...bounded, maxAttempts: 3 }),
    ]);
    await given.fire(outbox, order());
    for (const _ of upTo(6)) {
      await deliverPending(outbox);
      clock.advance({ hours: 1 });
    }
    assert.deepEqual(seen, [1, 1, 2, 2, 3, 3]);
    assert.deepEqual(await given.outcomes(), ["mail dead 3"]);
  },

  "it comes back between the time that it asked for and twice that, never earlier": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", bounded, deferral())]);
    await given.fire(outbox, order());
    const waits: number[] = [];
    for (const random of [0, 0.25, 0.5, 0.75]) {
      await drawn(random, () => deliverPending(outbox));
      waits.push(await waitOf(given, clock));
      clock.advance({ minutes: 10 });
    }
    assert.deepEqual(waits, [60_000, 75_000, 90_000, 105_000]);
  },

  "rows that are deferred together do not come back together": async (given) => {
    const { outbox } = clocked(given, [failing("mail", bounded, deferral())]);
    await given.fire(outbox, ...upTo(8).map(order));
    let n = 0;
    const original = Math.random;
    Math.random = () => n++ / 8;
    try {
      for (const _ of upTo(8)) await deliverPending(outbox, { limit: 1 });
    } finally {
      Math.random = original;
    }
    assert.equal(new Set((await given.rows()).map((row) => row.availableAt)).size, 8);
  },

  "pitfall 81: the jitter ends at the most that may be asked for, without a warning": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", bounded, deferral({ hours: 20 }))]);
    await given.fire(outbox, order());
    await drawn(0.9, () => deliverPending(outbox));
    assert.equal(await waitOf(given, clock), 86_400_000);
    assert.ok(!given.logs.lines("warning").some((line) => line.includes("cut to")));
  },

  "pitfall 81: a deferral beyond the most is cut to it, with a warning that names both numbers": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", bounded, deferral({ days: 3 }))]);
    await given.fire(outbox, order());
    await drawn(0, () => deliverPending(outbox));
    assert.equal(await waitOf(given, clock), 86_400_000);
    assert.match(given.logs.lines("warning")[0]!, /asked to retry .* after 259200 s; cut to maxRetryAfter, 86400 s/);
  },

  "it undoes what was written in the receiver's transaction": async (given) => {
    const outbox = given.outbox([
      onOrder("mail", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        throw deferral();
      }, { ...bounded, maxAttempts: 1 }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual([await given.outcomes(), await given.notes()], [["mail failed 0"], []]);
  },

  "pitfall 86: a microsecond before the bound it is deferred": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", bounded, deferral())]);
    await given.fire(outbox, order());
    clock.advance({ days: 2, milliseconds: -0.001 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
  },

  "pitfall 86: at exactly the bound it is dead, and no attempt is spent": async (given) => {
    const told: DeliveryFailure[] = [];
    const options: ReceiverOptions = { ...bounded, onFailure: (failure) => told.push(failure) };
    const { outbox, clock } = clocked(given, [failing("mail", options, deferral())]);
    await given.fire(outbox, order());
    const since = clock.date.toISOString();
    clock.advance({ days: 2 });
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.completedAt], ["dead", 0, clock.now()]);
    assert.equal(
      row.lastError,
      `Given up: deferred, and owed for 172800 seconds, since ${since}, which reaches giveUpAfter (172800 seconds). ` +
        "RetryAfter: daily quota",
    );
    assert.deepEqual(told.map(({ status, attempt, error }) => [status, attempt, error]), [["dead", 1, row.lastError]]);
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver mail failed delivery ${row.id} on attempt 1 with RetryAfter; the row is dead`,
    ]);
  },

  "deferring does not move the moment from which it is owed": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", { giveUpAfter: { hours: 5 } }, deferral())]);
    await given.fire(outbox, order());
    const seen: unknown[] = [];
    for (const _ of upTo(6)) {
      seen.push(await deliverPending(outbox));
      clock.advance({ hours: 1 });
    }
    assert.deepEqual(seen, [...Array(5).fill({ failed: 1 }), { dead: 1 }]);
  },

  "nor does the backoff of a failure": async (given) => {
    let runs = 0;
    const { outbox, clock } = clocked(given, [
      onOrder("mail", () => {
        throw ++runs === 1 ? new Error("no luck") : deferral();
      }, { giveUpAfter: { hours: 5 } }),
    ]);
    await given.fire(outbox, order());
    clock.advance({ hours: 4 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    clock.advance({ hours: 1 });
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    assert.deepEqual(await given.outcomes(), ["mail dead 1"]);
  },

  "the bound ends deferrals alone: failures and retries that count have their budget": async (given) => {
    const { outbox, clock } = clocked(given, [
      failing("fails", { ...bounded, maxAttempts: 2 }),
      failing("asks", { ...bounded, maxAttempts: 2 }, new RetryAfter({ seconds: 1 })),
    ]);
    await given.fire(outbox, order());
    clock.advance({ days: 90 });
    assert.deepEqual(await deliverPending(outbox), { failed: 2 });
    clock.advance({ hours: 1 });
    assert.deepEqual(await deliverPending(outbox), { dead: 2 });
    assert.deepEqual(await given.outcomes(), ["fails dead 2", "asks dead 2"]);
  },

  "pitfall 86: an event of last month that is replayed is owed from then on": async (given) => {
    let throttled = false;
    const { outbox, clock } = clocked(given, [
      onOrder("mail", () => {
        if (throttled) throw deferral();
      }, bounded),
    ]);
    const ids = await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    throttled = true;
    clock.advance({ days: 30 });
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 1, added: 0 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    clock.advance({ days: 2 });
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
  },

  "pitfall 86: a row that gave up and is replayed is owed from then on": async (given) => {
    const { outbox, clock } = clocked(given, [failing("mail", bounded, deferral())]);
    const ids = await given.fire(outbox, order());
    clock.advance({ days: 2 });
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    await replayEvents(outbox, ids);
    clock.advance({ days: 1 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.outcomes(), ["mail failed 0"]);
  },

  "pitfall 86: a scheduled row is owed from its moment, however young its event": async (given) => {
    const { outbox, clock } = clocked(given, [
      failing("mail", { ...bounded, due: () => new Date(clock.date.getTime() - 172_800_000) }, deferral()),
      failing("soon", { ...bounded, due: { days: 30 } }, deferral()),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    clock.advance({ days: 30 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.outcomes(), ["mail dead 0", "soon failed 0"]);
  },

  "pitfall 86: one that was not due yet is owed from the moment that the receiver named": async (given) => {
    let until: Date | undefined;
    const { outbox, clock } = clocked(given, [
      onOrder("mail", () => {
        throw until ? new NotYet(until) : deferral();
      }, bounded),
    ]);
    await given.fire(outbox, order());
    clock.advance({ days: 3 });
    until = new Date(clock.date.getTime() + 3_600_000);
    assert.deepEqual(await deliverPending(outbox), { pending: 1 });
    until = undefined;
    clock.advance({ hours: 1 });
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.outcomes(), ["mail failed 0"]);
  },

  "pitfall 85: without a bound it counts, waits without jitter, pauses nothing, and is warned of once": async (
    given,
  ) => {
    // The warning is once per process, which has run this case before.
    const [mail, sms] = [`mail ${crypto.randomUUID()}`, `sms ${crypto.randomUUID()}`];
    const { outbox, clock } = clocked(given, [
      failing(mail, { maxAttempts: 2 }, deferral()),
      failing(sms, { maxAttempts: 2 }, deferral()),
    ]);
    await given.fire(outbox, order(1), order(2));
    assert.deepEqual(await deliverPending(outbox), { failed: 4 });
    for (const row of await given.rows()) {
      assert.deepEqual([row.attempts, Number(row.availableAt - clock.now())], [1, 60_000_000]);
    }
    clock.advance({ minutes: 1 });
    assert.deepEqual(await deliverPending(outbox), { dead: 4 });
    const warned = given.logs.lines("warning").filter((line) => line.includes("declares no giveUpAfter"));
    assert.deepEqual(
      warned,
      [mail, sms].map((key) =>
        `receiver ${key} defers without counting and declares no giveUpAfter, so nothing would end it: it counts`
      ),
    );
  },

  "the bound is read when it is deferred, not copied onto the row": async (given) => {
    const key = `mail ${crypto.randomUUID()}`;
    await given.fire(given.outbox([failing(key, {}, deferral())]), order());
    const deployed = given.outbox([failing(key, { giveUpAfter: { hours: 1 } }, deferral())]);
    assert.deepEqual(await deliverPending(deployed, { now: later({ minutes: 59 }) }), { failed: 1 });
    assert.deepEqual(await deliverPending(deployed, { now: later({ minutes: 90 }) }), { dead: 1 });
    assert.deepEqual(await given.outcomes(), [`${key} dead 0`]);
  },

  "pitfall 87: draining a receiver that always defers returns": async (given) => {
    let calls = 0;
    const outbox = given.outbox([
      onOrder("mail", () => {
        calls++;
        throw deferral({ milliseconds: 1 });
      }, { ...bounded, lane: "mail" }),
      onOrder("stock"),
    ]);
    await given.fire(outbox, order(1), order(2), order(3));
    assert.deepEqual(await drainOutbox(outbox), { failed: 1, succeeded: 3 });
    assert.equal(calls, 1);
  },
};
