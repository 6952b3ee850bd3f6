import assert from "node:assert/strict";
import { deliverPending, fire, type Tx } from "../../../mod.ts";
import { type Cases, type Given, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

/** An outbox that notes whatever runs or is woken after a commit. */
function watched(given: Given) {
  const ran: string[] = [];
  const storage = given.changed({ wake: () => Promise.resolve(void ran.push("wake")) });
  const outbox = given.outbox([
    onOrder("eager", ({ orderId }) => ran.push(`eager ${orderId}`), { eager: true }),
    onOrder("after", ({ orderId }) => ran.push(`after ${orderId}`), { mode: "on-commit" }),
  ], { storage });
  return { outbox, ran };
}

const undo = new Error("undo");

/** A savepoint that is undone. */
function failing(given: Given, tx: Tx): Promise<void> {
  return tx.savepoint(async (inner) => {
    await given.note(inner.client, "undone");
    throw undo;
  });
}

/** The numbers of the orders that are there. */
const orders = async (given: Given) => (await given.events()).map(({ payload }) => JSON.parse(payload).orderId);

export const savepointCases: Cases = {
  "pitfall 5: what a savepoint undoes leaves nothing at all": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      const error = await rejection(tx.savepoint(async (inner) => {
        await given.note(inner.client, "undone");
        await fire(inner, order());
        throw undo;
      }));
      assert.equal(error, undo);
      await given.note(tx.client, "kept");
    });
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(await given.events(), []);
    assert.deepEqual(await given.rows(), []);
    assert.deepEqual(ran, []);
  },

  "what is fired around an undone savepoint stays": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      await fire(tx, order(1));
      await rejection(tx.savepoint(async (inner) => {
        await fire(inner, order(2));
        throw undo;
      }));
      await fire(tx, order(3));
    });
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [1, 3]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "eager 3", "after 1", "after 3"]);
  },

  "a released savepoint counts as its transaction does": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction((tx) => tx.savepoint((inner) => fire(inner, order(1))));
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
    await rejection(outbox.transaction(async (tx) => {
      await tx.savepoint((inner) => fire(inner, order(2)));
      throw undo;
    }));
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "an undone savepoint takes the ones inside it along": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      await rejection(tx.savepoint(async (outer) => {
        await outer.savepoint((inner) => fire(inner, order()));
        throw undo;
      }));
    });
    await given.nothing();
    assert.deepEqual(ran, []);
  },

  "an undone savepoint leaves the one around it": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction((tx) =>
      tx.savepoint(async (outer) => {
        await fire(outer, order(1));
        await rejection(outer.savepoint(async (inner) => {
          await fire(inner, order(2));
          throw undo;
        }));
      })
    );
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [1]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "a failed statement under a savepoint leaves the transaction usable": async (given) => {
    const { outbox } = watched(given);
    await outbox.transaction(async (tx) => {
      await rejection(tx.savepoint((inner) => given.fail(inner.client)));
      await fire(tx, order());
    });
    assert.equal((await given.events()).length, 1);
  },

  "a savepoint gives what its work gives": async (given) => {
    const { outbox } = watched(given);
    assert.equal(await outbox.transaction((tx) => tx.savepoint(() => 7)), 7);
  },

  "firing in a savepoint that has ended is refused": async (given) => {
    const { outbox } = watched(given);
    await outbox.transaction(async (tx) => {
      const ended = await tx.savepoint((inner) => inner);
      await assert.rejects(fire(ended, order()), /has ended/);
    });
    await given.nothing();
  },

  "a savepoint that nobody awaited is awaited before the commit": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction((tx) => {
      void tx.savepoint((inner) => fire(inner, order()));
    });
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "a fire that nobody awaited stays when a savepoint that was set after it is undone": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      await given.note(tx.client, "kept");
      void fire(tx, order(1));
      await rejection(failing(given, tx));
    });
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(await orders(given), [1]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "so does one that was begun with it": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      await Promise.all([fire(tx, order(1)), rejection(failing(given, tx))]);
    });
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual(await orders(given), [1]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "of two savepoints at a time the second is refused, and undoes nothing of the first": async (given) => {
    const { outbox, ran } = watched(given);
    const begun = Promise.withResolvers<void>();
    await outbox.transaction(async (tx) => {
      const [, error] = await Promise.all([
        tx.savepoint(async (first) => {
          await given.note(first.client, "first");
          await begun.promise;
          await fire(first, order(1));
        }),
        rejection(failing(given, tx)).finally(begun.resolve),
      ]);
      assert.match(error.message, /Cannot set a savepoint in a transaction while a savepoint of it is open/);
    });
    assert.deepEqual(await given.notes(), ["first"]);
    assert.deepEqual(await orders(given), [1]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 1", "after 1"]);
  },

  "firing into the transaction from inside a savepoint of it is refused": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.transaction(async (tx) => {
      const error = await rejection(tx.savepoint(() => fire(tx, order(1))));
      assert.match(error.message, /Cannot fire in a transaction while a savepoint of it is open/);
      await fire(tx, order(2));
    });
    assert.deepEqual(await orders(given), [2]);
    assert.deepEqual(ran.filter((what) => what !== "wake"), ["eager 2", "after 2"]);
  },

  "a refusal that nobody awaited fails the transaction": async (given) => {
    const { outbox, ran } = watched(given);
    const error = await rejection(outbox.transaction((tx) =>
      tx.savepoint(async (inner) => {
        void fire(tx, order(1));
        await fire(inner, order(2));
      })
    ));
    assert.match(error.message, /while a savepoint of it is open/);
    await given.nothing();
    assert.deepEqual(ran, []);
  },

  "a child that a receiver did not await stays when a savepoint that was set after it is undone": async (given) => {
    const outbox = given.outbox([
      onOrder("opened", async (_, ctx) => {
        const tx = await ctx.transaction();
        void fire(ctx, StockReserved({ orderId: 1 }));
        await rejection(failing(given, tx));
      }),
      onOrder("opening", async (_, ctx) => {
        void fire(ctx, StockReserved({ orderId: 2 }));
        await rejection(failing(given, await ctx.transaction()));
      }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual((await orders(given)).slice(1), [1, 2]);
  },

  "a child that a receiver fires beside an open savepoint fails the attempt, and undoes its work": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const tx = await ctx.transaction();
        await tx.savepoint(async (inner) => {
          void fire(ctx, StockReserved({ orderId: 1 }));
          await given.note(inner.client, "undone");
        });
      }),
    ], { events: [StockReserved] });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.match((await given.row()).lastError!, /while a savepoint of it is open/);
  },
};
