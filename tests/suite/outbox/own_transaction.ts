import assert from "node:assert/strict";
import { deliverPending, fire, receiver, type Tx } from "../../../mod.ts";
import { type Cases, later, rejection, upTo } from "./given.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

const noLuck = new Error("no luck");

export const ownTransactionCases: Cases = {
  "the work and the acknowledgement commit together": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, `order ${orderId}`);
      }),
    ]);
    await given.fire(outbox, order(1), order(2));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(await given.notes(), ["order 1", "order 2"]);
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "stock succeeded 1"]);
  },

  "pitfall 75: a receiver that fails has its work undone, and the failure is recorded": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, `attempt ${++runs}`);
        if (runs === 1) throw noLuck;
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual(await given.outcomes(), ["stock failed 1"]);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["attempt 2"]);
  },

  "out of attempts its work is undone too": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        throw noLuck;
      }, { maxAttempts: 1 }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    assert.deepEqual(await given.notes(), []);
  },

  "asked for again it is the same transaction": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const [one, two] = await Promise.all([ctx.transaction(), ctx.transaction()]);
        assert.equal(one, two);
        await given.note(one.client, "once");
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["once"]);
  },

  "it is refused once the receiver has returned": async (given) => {
    let kept: Tx | undefined;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        kept = await ctx.transaction();
        await given.note(kept.client, "in time");
      }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    await assert.rejects(async () => await given.note(kept!.client, "too late"), /has returned|has ended/);
    await assert.rejects(fire(kept!, StockReserved({ orderId: 1 })), /has ended|has returned/);
    assert.deepEqual(await given.notes(), ["in time"]);
    assert.equal((await given.events()).length, 1);
  },

  "a failed statement fails the attempt even if the receiver swallows it": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, "undone");
        await given.fail(client).catch(() => {});
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual(await given.outcomes(), ["stock failed 1"]);
    assert.match((await given.row()).lastError!, /nothing/); // the driver's own words name the column
  },

  "a failed statement under a savepoint that undid it fails nothing": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const tx = await ctx.transaction();
        await rejection(tx.savepoint((inner) => given.fail(inner.client)));
        await given.note(tx.client, "kept");
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["kept"]);
  },

  "a child that it fires commits with the acknowledgement, and names its parent": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await fire(ctx, StockReserved({ orderId: 1 }));
        const tx = await ctx.transaction();
        await fire(tx, StockReserved({ orderId: 2 }));
        await given.note(tx.client, "with them");
      }),
      receiver(StockReserved, "mail", () => {}),
    ]);
    const [parent] = await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { limit: 1 }), { succeeded: 1 });
    assert.deepEqual((await given.events()).map((event) => event.causationId), [null, parent, parent]);
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "mail pending 0", "mail pending 0"]);
    assert.deepEqual(given.logs.lines("warning"), []);
  },

  "a child of an attempt that fails is not there, and nothing of it runs": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await fire(ctx, StockReserved({ orderId: 1 }));
        throw noLuck;
      }),
      receiver(StockReserved, "after", () => ran.push("after"), { mode: "on-commit" }),
      receiver(StockReserved, "eager", () => ran.push("eager"), { eager: true }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(ran, []);
  },

  "a child that nobody awaited is awaited, and its failure is the attempt's": async (given) => {
    const outbox = given.outbox([
      onOrder("good", (_, ctx) => void fire(ctx, StockReserved({ orderId: 1 }))),
      onOrder("bad", (_, ctx) => void fire(ctx, StockReserved({ orderId: NaN }))),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1, failed: 1 });
    assert.equal((await given.events()).length, 2);
    assert.match((await given.row("bad")).lastError!, /^PayloadRefused/);
  },

  "the veto of a child's inline receiver fails the attempt even if it is caught": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        await fire(ctx, StockReserved({ orderId: 1 })).catch(() => {});
      }),
      receiver(StockReserved, "check", () => {
        throw new RangeError("veto");
      }, { mode: "inline" }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.equal((await given.events()).length, 1);
    assert.equal((await given.row()).lastError, "RangeError: veto");
  },

  "a savepoint in it undoes its part": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const tx = await ctx.transaction();
        await given.note(tx.client, "kept");
        await rejection(tx.savepoint(async (inner) => {
          await given.note(inner.client, "undone");
          await fire(inner, StockReserved({ orderId: 1 }));
          throw noLuck;
        }));
        await tx.savepoint((inner) => fire(inner, StockReserved({ orderId: 2 })));
      }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [1, 2]);
  },

  "a second transaction inside it does not wait for itself": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await ctx.transaction();
        await outbox.transaction((tx) => given.note(tx.client, "second"));
      }),
      onOrder("mail", (_, ctx) => outbox.transaction(() => ctx.transaction())),
    ]);
    await given.fire(outbox, order());
    const counts = await deliverPending(outbox);
    if (given.oneWriter) {
      assert.deepEqual(counts, { failed: 2 });
      for (const row of await given.rows()) assert.match(row.lastError!, /would wait for itself/);
    } else {
      assert.deepEqual(counts, { succeeded: 2 });
      assert.deepEqual(await given.notes(), ["second"]);
    }
  },

  "delivering from inside a transaction does not wait for itself": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    const inside = outbox.transaction(() => deliverPending(outbox));
    if (given.oneWriter) assert.match((await rejection(inside)).message, /would wait for itself/);
    else assert.deepEqual(await inside, { succeeded: 1 });
  },

  "once it has ended, the receiver's task may open another": async (given) => {
    let background: Promise<unknown> | undefined;
    const settled = Promise.withResolvers<void>();
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await ctx.transaction();
        background = settled.promise.then(() => outbox.transaction((tx) => given.note(tx.client, "afterwards")));
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    settled.resolve();
    await background;
    assert.deepEqual(await given.notes(), ["afterwards"]);
  },

  "many at a time each have their own": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, String(orderId));
        if (orderId % 5 === 0) throw noLuck;
      }, { maxAttempts: 1 }),
    ]);
    await given.fire(outbox, ...upTo(50).map(order));
    assert.deepEqual(await deliverPending(outbox, { concurrency: 8 }), { succeeded: 40, dead: 10 });
    const kept = upTo(50).filter((n) => n % 5 !== 0).map(String);
    assert.deepEqual(await given.notes(), kept.sort());
  },

  "a receiver that does not open one holds nothing": async (given) => {
    const outbox = given.outbox([
      onOrder("mail", () => outbox.transaction((tx) => given.note(tx.client, "own"))),
    ], { events: [OrderPlaced] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["own"]);
  },
};
