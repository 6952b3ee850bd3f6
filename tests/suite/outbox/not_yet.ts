import assert from "node:assert/strict";
import {
  deliverOne,
  deliverPending,
  type DeliveryContext,
  drainOutbox,
  NotYet,
  type Receiver,
  type ReceiverOptions,
} from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, later, upTo } from "./given.ts";
import { onOrder, order } from "./samples.ts";

const micros = (moment: Date) => BigInt(moment.getTime()) * 1000n;

/** A receiver that is not due until then, the first time. */
function early(until: () => Date, options: ReceiverOptions = {}, seen: DeliveryContext[] = []): Receiver {
  return onOrder("expire", (_, ctx) => {
    seen.push(ctx);
    if (seen.length === 1) throw new NotYet(until(), { reason: "the offer was extended" });
  }, options);
}

export const notYetCases: Cases = {
  "pitfall 98: the row is pending until exactly then, and nothing else changes": async (given) => {
    const told: unknown[] = [];
    const until = later({ hours: 5 });
    const outbox = given.outbox([early(() => until, { maxAttempts: 1, onFailure: (failure) => told.push(failure) })]);
    await given.fire(outbox, order());
    const before = await given.row();
    assert.deepEqual(await deliverPending(outbox), { pending: 1 });
    const { claimedAt: _, claimedBy: __, ...row } = await given.row();
    const { claimedAt: ___, claimedBy: ____, ...was } = before;
    assert.deepEqual(row, { ...was, availableAt: micros(until), dueAt: micros(until) });
    assert.deepEqual([told, given.logs.lines("warning"), given.logs.lines("error")], [[], [], []]);
  },

  "pitfall 98: the error of an earlier failure and its attempt stay": async (given) => {
    const until = later({ hours: 5 });
    let runs = 0;
    const outbox = given.outbox([
      onOrder("expire", () => {
        throw ++runs === 1 ? new Error("no luck") : new NotYet(until);
      }),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), { pending: 1 });
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError, row.dueAt], [
      "pending",
      1,
      "Error: no luck",
      micros(until),
    ]);
  },

  "it runs then and not before; the context has the moment, and the attempt is the same": async (given) => {
    const until = later({ hours: 5 });
    const seen: DeliveryContext[] = [];
    const outbox = given.outbox([early(() => until, {}, seen)]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await deliverPending(outbox, { now: new Date(until.getTime() - 1) }), {});
    assert.deepEqual(await deliverPending(outbox, { now: until }), { succeeded: 1 });
    assert.deepEqual(seen.map((ctx) => ctx.attempt), [1, 1]);
    assert.deepEqual(seen[1]!.dueAt, until);
    assert.deepEqual(await given.outcomes(), ["expire succeeded 1"]);
  },

  "it is neither cut nor jittered, and no bound ends it": async (given) => {
    const until = later({ hours: 24 * 400 });
    const options = { giveUpAfter: { hours: 1 } };
    const outbox = given.outbox([early(() => until, options)], { settings: { maxRetryAfter: { minutes: 1 } } });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 48 }) }), { pending: 1 });
    assert.deepEqual((await given.row()).availableAt, micros(until));
  },

  "pitfall 98: it pauses no lane: the rest of the batch is run": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("expire", ({ orderId }) => {
        ran.push(orderId);
        if (orderId < 4) throw new NotYet(later({ hours: 1 }));
      }, { giveUpAfter: { hours: 1 } }),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await deliverPending(outbox), { pending: 3, succeeded: 2 });
    assert.deepEqual(ran, [1, 2, 3, 4, 5]);
  },

  "what was written in the receiver's transaction is undone": async (given) => {
    const until = later({ hours: 5 });
    const outbox = given.outbox([
      onOrder("expire", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        throw new NotYet(until);
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { pending: 1 });
    const { status, attempts, dueAt, availableAt } = await given.row();
    assert.deepEqual([status, attempts, dueAt, availableAt], ["pending", 0, micros(until), micros(until)]);
    assert.deepEqual(await given.notes(), []);
  },

  "deliverOne and an eager attempt put it off too": async (given) => {
    const until = later({ hours: 5 });
    const outbox = given.outbox([
      onOrder("one", () => {
        throw new NotYet(until);
      }),
      onOrder("eager", () => {
        throw new NotYet(until);
      }, { eager: true }),
    ]);
    await given.fire(outbox, order());
    assert.equal((await given.row("eager")).dueAt, micros(until));
    assert.equal(await deliverOne(outbox, (await given.row("one")).id), "pending");
    assert.equal((await given.row("one")).dueAt, micros(until));
  },

  "pitfall 89: a worker that lost the row puts nothing off": async (given) => {
    const outbox = given.outbox([
      onOrder("expire", async () => {
        await given.steal("expire");
        throw new NotYet(later({ hours: 5 }));
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    const row = await given.row();
    assert.deepEqual([row.claimedBy, row.dueAt], ["thief", null]);
  },

  "a relay runs it when the moment has come": async (given) => {
    const outbox = given.outbox([early(() => later({ ms: 80 }))], { settings: { poll: { minutes: 5 } } });
    await using _relay = await given.relay(outbox);
    await given.fire(outbox, order());
    await waitFor(async () => (await given.row()).status === "succeeded", { what: "the moment", timeoutMs: 5000 });
  },

  "an offer expires after 48 hours, or when it was extended to, under a moved clock": async (given) => {
    const offers = new Map([[1, later({ hours: 48 })], [2, later({ hours: 48 })]]);
    const expired: number[] = [];
    const outbox = given.outbox([
      onOrder("expire", ({ orderId }, ctx) => {
        const expiresAt = offers.get(orderId)!;
        if (expiresAt.getTime() > Math.max(ctx.dueAt.getTime(), Date.now())) throw new NotYet(expiresAt);
        expired.push(orderId);
      }, { due: { hours: 48, minutes: 1 } }),
    ]);
    await given.fire(outbox, order(1), order(2));
    offers.set(2, later({ hours: 72 }));
    assert.deepEqual(await drainOutbox(outbox), {});
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 49 }) }), { succeeded: 1, pending: 1 });
    assert.deepEqual(expired, [1]);
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 71 }) }), {});
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 73 }) }), { succeeded: 1 });
    assert.deepEqual(expired, [1, 2]);
  },
};
