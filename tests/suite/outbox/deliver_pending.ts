import assert from "node:assert/strict";
import { deliverPending, fire, receiver } from "../../../mod.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order, StockReserved } from "./samples.ts";

/** How many rows another worker could take at this very moment. */
async function claimable(given: Given): Promise<number> {
  const receivers = [{ key: "stock", leaseMs: 1000 }];
  return (await given.storage.claim({ worker: "other", receivers, limit: 100 })).length;
}

export const deliverPendingCases: Cases = {
  "with nothing due it gives no counts": async (given) => {
    assert.deepEqual(await deliverPending(given.outbox([onOrder("stock")])), {});
    assert.deepEqual(await deliverPending(given.outbox([])), {});
  },

  "it counts what ended in which status": async (given) => {
    const outbox = given.outbox([onOrder("a"), failing("b"), failing("c", { maxAttempts: 1 }), onOrder("d")]);
    await given.fire(outbox, order(1), order(2));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 4, failed: 2, dead: 2 });
  },

  "a limit is one claim of at most so many rows": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await deliverPending(outbox, { limit: 3 }), { succeeded: 3 });
    assert.deepEqual(await deliverPending(outbox, { limit: 3 }), { succeeded: 2 });
  },

  "a limit may be larger than a batch": async (given) => {
    const outbox = given.outbox([onOrder("stock")], { settings: { batchSize: 10 } });
    await given.fire(outbox, ...upTo(1200).map(order));
    assert.deepEqual(await deliverPending(outbox, { limit: 1100, concurrency: 10 }), { succeeded: 1100 });
  },

  "pitfall 113: a limit of 0 delivers nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { limit: 0 }), {});
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "without a limit it claims until nothing is due": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, ...upTo(25).map(order));
    assert.deepEqual(await deliverPending(outbox, { batchSize: 10 }), { succeeded: 25 });
  },

  "pitfalls 70 and 127: options out of range are refused by name, and run nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    const wrong: [object, RegExp][] = [
      [{ limit: 1, batchSize: 1 }, /limit .*batchSize/],
      ...[-1, 1.5, NaN, "2", true, 10_001].map((limit) => [{ limit }, /limit/] as [object, RegExp]),
      ...[0, -1, 2.5, "2", true, 1001].map((batchSize) => [{ batchSize }, /batchSize/] as [object, RegExp]),
      ...[0, 1.5, "2", Infinity, 1001].map((concurrency) => [{ concurrency }, /concurrency/] as [object, RegExp]),
      ...[5, {}, { seconds: 0 }, { seconds: -1 }].map((deadline) => [{ deadline }, /deadline/] as [object, RegExp]),
      ...[5, "now", new Date(NaN)].map((now) => [{ now }, /now/] as [object, RegExp]),
    ];
    for (const [options, message] of wrong) {
      await assert.rejects(deliverPending(outbox, options), (error: Error) => {
        assert.ok(error instanceof TypeError || error instanceof RangeError, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
    for (const into of [undefined, {}, given.storage]) {
      await assert.rejects(deliverPending(into as never), /the first argument must be/);
    }
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "a signal lets what runs finish, and hands the rest back at once": async (given) => {
    const stop = new AbortController();
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }, ctx) => {
        if (orderId === 2) stop.abort();
        await given.events();
        assert.equal(ctx.signal.aborted, false);
        ran.push(orderId);
      }),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await deliverPending(outbox, { signal: stop.signal }), { succeeded: 2 });
    assert.deepEqual(ran, [1, 2]);
    const rest = (await given.outcomes()).slice(2);
    assert.deepEqual(rest, Array(3).fill("stock pending 0"));
    assert.equal(await claimable(given), 3);
    assert.deepEqual((await given.rows()).map((row) => row.lapses), [0, 0, 0, 0, 0]);
  },

  "a signal that has aborted starts nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { signal: AbortSignal.abort() }), {});
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "a deadline does what a signal does": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async () => {
        const until = performance.now() + 60;
        while (performance.now() < until) await given.events();
      }),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    const counts = await deliverPending(outbox, { deadline: { milliseconds: 100 } });
    assert.ok(counts.succeeded! >= 1 && counts.succeeded! < 5, JSON.stringify(counts));
    assert.equal(await claimable(given), 5 - counts.succeeded!);
  },

  "what is handed back keeps its place": async (given) => {
    const stop = new AbortController();
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", ({ orderId }) => {
        ran.push(orderId);
        stop.abort();
      }),
    ]);
    await given.fire(outbox, order(1), order(2));
    await deliverPending(outbox, { signal: stop.signal });
    await given.fire(outbox, order(3));
    await deliverPending(outbox);
    assert.deepEqual(ran, [1, 2, 3]);
  },

  "an error of the database at the claim is the caller's": async (given) => {
    const down = new Error("down");
    const storage = given.changed({ claim: () => Promise.reject(down) });
    assert.equal(await rejection(deliverPending(given.outbox([onOrder("stock")], { storage }))), down);
  },

  "an outcome whose answer is lost is sent again, and counts once": async (given) => {
    let lost = 0;
    const storage = given.changed({
      settle: async (...settling) => {
        const answers = await given.storage.settle(...settling);
        if (lost++ === 0) throw new Error("the answer was lost");
        return answers;
      },
    });
    const outbox = given.outbox([onOrder("stock"), failing("mail")], { storage });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { concurrency: 2 }), { succeeded: 1, failed: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "mail failed 1"]);
  },
};

const undo = new Error("undo");

export const withinCases: Cases = {
  "inside a transaction that is rolled back everything is as it was": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("works", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
        await fire(ctx, StockReserved({ orderId: 1 }));
      }),
      onOrder("plain", () => ran.push("plain")),
      failing("fails"),
      receiver(StockReserved, "child", () => ran.push("child")),
      receiver(StockReserved, "after", () => ran.push("after"), { mode: "on-commit" }),
    ]);
    await given.fire(outbox, order(1));
    const before = [await given.rows(), await given.events()];
    const error = await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order(2));
      const counts = await deliverPending(tx);
      assert.deepEqual(counts, { succeeded: 6, failed: 2 });
      throw undo;
    }));
    assert.equal(error, undo);
    assert.deepEqual([await given.rows(), await given.events()], before);
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual(ran.sort(), ["child", "child", "plain", "plain"]);
  },

  "inside one that commits it is recorded, and what was fired runs afterwards": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("works", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
        await fire(ctx, StockReserved({ orderId: 1 }));
      }),
      failing("fails"),
      receiver(StockReserved, "after", () => ran.push("after"), { mode: "on-commit" }),
    ]);
    await given.fire(outbox, order());
    await outbox.transaction(async (tx) => {
      assert.deepEqual(await deliverPending(tx), { succeeded: 1, failed: 1 });
      assert.deepEqual(ran, []);
    });
    assert.deepEqual(await given.outcomes(), ["works succeeded 1", "fails failed 1"]);
    assert.deepEqual(await given.notes(), ["work"]);
    assert.deepEqual(ran, ["after"]);
  },

  "a receiver that fails there has its work undone, and the transaction stays usable": async (given) => {
    const outbox = given.outbox([
      onOrder("fails", async (_, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, "undone");
        await given.fail(client);
      }),
      onOrder("works", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "kept");
      }),
    ]);
    await outbox.transaction(async (tx) => {
      await fire(tx, order());
      assert.deepEqual(await deliverPending(tx), { failed: 1, succeeded: 1 });
      await given.note(tx.client, "kept too");
    });
    assert.deepEqual(await given.notes(), ["kept", "kept too"]);
    assert.deepEqual(await given.outcomes(), ["fails failed 1", "works succeeded 1"]);
  },

  "they run one at a time, whatever the concurrency": async (given) => {
    let running = 0;
    let most = 0;
    const outbox = given.outbox([
      onOrder("stock", async () => {
        most = Math.max(most, ++running);
        for (let i = 0; i < 20; i++) await Promise.resolve();
        running--;
      }),
    ]);
    await outbox.transaction(async (tx) => {
      for (const n of upTo(5)) await fire(tx, order(n));
      assert.deepEqual(await deliverPending(tx, { concurrency: 5 }), { succeeded: 5 });
    });
    assert.equal(most, 1);
  },

  "in a savepoint that is undone it is undone with it": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    await outbox.transaction(async (tx) => {
      await rejection(tx.savepoint(async (inner) => {
        assert.deepEqual(await deliverPending(inner), { succeeded: 1 });
        throw undo;
      }));
    });
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 5 }) }), { succeeded: 1 });
  },
};
