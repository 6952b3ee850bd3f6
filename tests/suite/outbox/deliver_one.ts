import assert from "node:assert/strict";
import { deliverOne, deliverPending, drainOutbox, fire } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, later, rejection } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

async function hold(given: Given, key: string) {
  const receivers = [{ key, leaseMs: 60_000 }];
  assert.equal((await given.storage.claim({ worker: "other", receivers, limit: 1 })).length, 1);
}

const atOnce = { backoff: { base: { milliseconds: 1 }, cap: { milliseconds: 1 } } };

export const deliverOneCases: Cases = {
  "pitfall 63: a pending one runs and its outcome is recorded": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))]);
    await given.fire(outbox, order(1), order(2));
    const [, second] = await given.rows();
    assert.equal(await deliverOne(outbox, second!.id), "succeeded");
    assert.deepEqual(ran, [2]);
    assert.deepEqual(await given.outcomes(), ["stock pending 0", "stock succeeded 1"]);
  },

  "it tells failed from dead": async (given) => {
    const outbox = given.outbox([failing("mail", { ...atOnce, maxAttempts: 2 })]);
    await given.fire(outbox, order());
    const { id } = await given.row();
    assert.equal(await deliverOne(outbox, id), "failed");
    await until(given, id);
    assert.equal(await deliverOne(outbox, id), "dead");
  },

  "pitfall 91: a failed one runs once it is due, and not before": async (given) => {
    let runs = 0;
    const fails = () => {
      runs++;
      throw new Error("no luck");
    };
    const soon = given.outbox([onOrder("mail", fails, { backoff: { base: { hours: 5 }, cap: { hours: 5 } } })]);
    await given.fire(soon, order());
    const { id } = await given.row();
    assert.equal(await deliverOne(soon, id), "failed");
    assert.equal(await deliverOne(soon, id), null);
    assert.equal(runs, 1);
    assert.deepEqual(await given.outcomes(), ["mail failed 1"]);
  },

  "pitfall 91: a settled one is left as it is": async (given) => {
    let runs = 0;
    const outbox = given.outbox([onOrder("stock", () => runs++), failing("mail", { maxAttempts: 1 })]);
    await given.fire(outbox, order());
    const before = given.outbox([onOrder("gone")]);
    await given.fire(before, order());
    await drainOutbox(outbox);
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.status), ["succeeded", "dead", "orphaned"]);
    for (const { id } of rows) assert.equal(await deliverOne(outbox, id), null);
    assert.deepEqual(await given.rows(), rows);
    assert.equal(runs, 1);
  },

  "pitfall 58: one that another worker holds is not run": async (given) => {
    let runs = 0;
    const outbox = given.outbox([onOrder("stock", () => runs++)]);
    await given.fire(outbox, order());
    await hold(given, "stock");
    assert.equal(await deliverOne(outbox, (await given.row()).id), null);
    assert.equal(runs, 0);
    assert.equal((await given.row()).claimedBy, "other");
  },

  "one that is not there, or whose receiver is not listed here, is not run": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order());
    const other = given.outbox([onOrder("mail")]);
    assert.equal(await deliverOne(other, (await given.row()).id), null);
    assert.equal(await deliverOne(other, "9223372036854775807"), null);
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "what is no id is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const id of ["", "1; drop table", "-1", 1, 1n, null, undefined, "12345678901234567890"]) {
      await assert.rejects(deliverOne(outbox, id as string), TypeError);
    }
    await assert.rejects(deliverOne(given.storage as never, "1"), TypeError);
  },

  "an id beyond what a database can hold is not there": async (given) => {
    assert.equal(await deliverOne(given.outbox([onOrder("stock")]), "9999999999999999999"), null);
  },

  "a signal that has aborted starts nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    await assert.rejects(deliverOne(outbox, (await given.row()).id, { signal: AbortSignal.abort() }), {
      name: "AbortError",
    });
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "inside a transaction that is rolled back it is as it was": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
        ran.push(orderId);
      }),
    ]);
    await given.fire(outbox, order());
    const before = await given.row();
    await rejection(outbox.transaction(async (tx) => {
      assert.equal(await deliverOne(tx, before.id), "succeeded");
      throw new Error("undo");
    }));
    assert.deepEqual(ran, [1]);
    assert.deepEqual(await given.row(), before);
    assert.deepEqual(await given.notes(), []);
  },

  "a child that it fires is owed as usual": async (given) => {
    const outbox = given.outbox([
      onOrder("again", ({ orderId }, ctx) => orderId > 2 ? undefined : fire(ctx, order(orderId + 1))),
    ]);
    await given.fire(outbox, order(1));
    assert.equal(await deliverOne(outbox, (await given.row()).id), "succeeded");
    assert.deepEqual(await given.outcomes(), ["again succeeded 1", "again pending 0"]);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 1 }) }), { succeeded: 2 });
  },
};

/** Waits until the delivery is due. */
async function until(given: Given, id: string): Promise<void> {
  await waitFor(async () => {
    const [row] = await given.storage.findDeliveries({ deliveryId: id });
    return Number(row!.availableAt / 1000n) < Date.now() - 2;
  }, { what: "the wait to be over" });
}
