import assert from "node:assert/strict";
import { deliverPending, fire, LeaseLost } from "../../../mod.ts";
import { takeTime, waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, later, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

const short = { lease: { milliseconds: 400 } };

/** What another worker can take right now, by the database's own clock. */
async function taken(given: Given): Promise<number> {
  const receivers = [{ key: "stock", leaseMs: 60_000 }];
  return (await given.storage.claim({ worker: "other", receivers, limit: 10 })).length;
}

const aborted = (signal: AbortSignal) => waitFor(() => signal.aborted, { what: "the signal to abort" });

export const leaseCases: Cases = {
  "a receiver that takes longer than its lease keeps its row": async (given) => {
    let others = 0;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const until = performance.now() + 1200;
        while (performance.now() < until) {
          others += await taken(given);
          await takeTime(40);
        }
        assert.equal(ctx.signal.aborted, false);
      }, short),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.equal(others, 0);
    assert.deepEqual([(await given.row()).lapses, (await given.row()).attempts], [0, 1]);
  },

  "pitfall 55: so do the rows that wait for their turn behind it": async (given) => {
    let others = 0;
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }) => {
        if (orderId > 1) return;
        await takeTime(900);
        others += await taken(given);
      }, short),
    ]);
    await given.fire(outbox, order(1), order(2), order(3));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
    assert.equal(others, 0);
    assert.deepEqual((await given.rows()).map((row) => row.lapses), [0, 0, 0]);
  },

  "a transaction that is open longer than the lease keeps its row too": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await takeTime(900);
        assert.equal(ctx.signal.aborted, false);
        await given.note(client, "kept");
      }, short),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["kept"]);
  },

  "when the row is taken its signal aborts with LeaseLost, and nothing is recorded": async (given) => {
    let reason: unknown;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { signal } = ctx;
        await given.steal("stock");
        await aborted(signal);
        reason = signal.reason;
        throw new Error("given up");
      }, short),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    await waitFor(() => reason, { what: "the receiver to hear of it" });
    assert.ok(reason instanceof LeaseLost);
    const row = await given.row();
    assert.deepEqual([row.attempts, row.claimedBy, row.lastError], [0, "thief", null]);
  },

  "pitfall 57: a receiver whose row was taken cannot work in its transaction": async (given) => {
    let error: unknown;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await given.steal("stock");
        error = await rejection(ctx.transaction());
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.ok(error instanceof LeaseLost);
    const row = await given.row();
    assert.deepEqual([row.attempts, row.claimedBy], [0, "thief"]);
  },

  "pitfall 57: when the row is lost in the middle of the transaction, the work is undone": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, "undone");
        // No claim can take a row that is locked; a hand at the database can.
        const deliveries = given.database.table("deliveries");
        await given.database.execute(client, `update ${deliveries} set claimed_by = 'thief'`);
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await given.notes(), []);
    assert.equal((await given.row()).attempts, 0);
  },

  "a row whose transaction is open cannot be taken, though its lease is long over": async (given) => {
    const taken: Promise<number>[] = [];
    const now = BigInt(later({ minutes: 10 }).getTime()) * 1000n;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { client } = await ctx.transaction();
        const receivers = [{ key: "stock", leaseMs: 1000 }];
        const { second = given.storage } = given.database;
        const claim = second.claim({ worker: "thief", receivers, limit: 1, now });
        if (!given.oneWriter) taken.push(claim.then((rows) => rows.length));
        else claim.catch(() => {}); // it waits for the writer, and then there is nothing left
        await Promise.all(taken);
        await given.note(client, "kept");
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await Promise.all(taken), given.oneWriter ? [] : [0]);
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1"]);
  },

  "nor fire in it": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await given.steal("stock");
        await fire(ctx, StockReserved({ orderId: 1 }));
      }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.equal((await given.events()).length, 1);
  },

  "pitfall 59: the rows that were taken from a batch do not end it": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }) => {
        ran.push(orderId);
        if (orderId > 1) return;
        const all = { worker: "thief", receivers: [{ key: "stock", leaseMs: 3_600_000 }], limit: 2 };
        await given.storage.claim({ ...all, now: BigInt(later({ minutes: 10 }).getTime()) * 1000n });
      }, { lease: { milliseconds: 400 } }),
    ]);
    await given.fire(outbox, order(1), order(2), order(3));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.claimedBy === "thief"), [true, true, false]);
    assert.deepEqual(rows.map((row) => row.attempts), [0, 0, 1]);
  },

  "what a lost row's receiver does to its outcome is logged without the row's content": async (given) => {
    const outbox = given.outbox([onOrder("stock", () => given.steal("stock"))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    const [line, ...more] = given.logs.lines("warning", "delivery");
    assert.match(line!, /receiver stock no longer holds delivery \d+, so its outcome was not recorded/);
    assert.deepEqual(more, []);
  },

  "a lease of the receiver's own is written before it runs": async (given) => {
    const left: number[] = [];
    const outbox = given.outbox([
      onOrder("long", async () => {
        left.push(Number((await given.row("long")).leasedUntil! / 1000n) - Date.now());
      }, { lease: { minutes: 30 } }),
      onOrder("default", async () => {
        left.push(Number((await given.row("default")).leasedUntil! / 1000n) - Date.now());
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.ok(left[0]! > 29 * 60_000 && left[0]! < 31 * 60_000, `${left[0]} ms`);
    assert.ok(left[1]! > 50_000 && left[1]! < 65_000, `${left[1]} ms`);
  },

  "a row that lapsed too often is dead, without having been run": async (given) => {
    let runs = 0;
    const outbox = given.outbox([onOrder("stock", () => runs++)], { settings: { maxLapses: 2 } });
    await given.fire(outbox, order());
    const receivers = [{ key: "stock", leaseMs: 60_000 }];
    for (const minutes of [1, 3, 5]) {
      const now = BigInt(later({ minutes }).getTime()) * 1000n;
      assert.equal((await given.storage.claim({ worker: "crashes", receivers, limit: 1, now })).length, 1);
    }
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 7 }) }), { dead: 1 });
    assert.equal(runs, 0);
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lapses], ["dead", 0, 3]);
    assert.match(row.lastError!, /Claimed 3 times without an outcome/);
  },

  "a row that lapsed before runs alone": async (given) => {
    let running = 0;
    const together: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }) => {
        running++;
        if (orderId === 1) together.push(running);
        await given.events();
        if (orderId === 1) together.push(running);
        running--;
      }),
    ]);
    await given.fire(outbox, order(1));
    const receivers = [{ key: "stock", leaseMs: 1000 }];
    await given.storage.claim({ worker: "crashes", receivers, limit: 1 });
    await given.fire(outbox, order(2), order(3), order(4));
    const counts = await deliverPending(outbox, { concurrency: 4, now: later({ minutes: 1 }) });
    assert.deepEqual(counts, { succeeded: 4 });
    assert.deepEqual(together, [1, 1]);
  },
};
