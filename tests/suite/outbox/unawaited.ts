import assert from "node:assert/strict";
import { fire, fireAll, type Tx } from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { onOrder, order, OrderPlaced } from "./samples.ts";

const bad = () => OrderPlaced({ orderId: NaN });

/** A rejection that nobody handles ends the process, so that these cases also show that there is none. */
export const unawaitedCases: Cases = {
  "a fire that nobody awaited is awaited before the commit": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("after", ({ orderId }) => ran.push(orderId), { mode: "on-commit" })]);
    await outbox.transaction((tx) => {
      void fire(tx, order(1));
      void fireAll(tx, [order(2), order(3)]);
    });
    assert.equal((await given.events()).length, 3);
    assert.deepEqual(ran, [1, 2, 3]);
  },

  "its failure fails the transaction, and not the process": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const error = await rejection(outbox.transaction(async (tx) => {
      await given.note(tx.client, "undone");
      void fire(tx, bad());
    }));
    assert.equal(error.name, "PayloadRefused");
    await given.nothing();
  },

  "the failure of a fireAll or of a savepoint that nobody awaited does so too": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const works: ((tx: Tx) => void)[] = [
      (tx) => void fireAll(tx, [order(), bad()]),
      (tx) => void tx.savepoint((inner) => fire(inner, bad())),
    ];
    for (const work of works) {
      assert.equal((await rejection(outbox.transaction(work))).name, "PayloadRefused");
    }
    await given.nothing();
  },

  "in a savepoint it fails the savepoint alone": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      const error = await rejection(tx.savepoint((inner) => {
        void fire(inner, order(1));
        void fire(inner, bad());
      }));
      assert.equal(error.name, "PayloadRefused");
      await fire(tx, order(2));
    });
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [2]);
  },

  "when the work throws, its own error is the one that shows": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const mine = new Error("mine");
    const error = await rejection(outbox.transaction((tx) => {
      void fire(tx, bad());
      void fire(tx, order());
      throw mine;
    }));
    assert.equal(error, mine);
    await given.nothing();
  },

  "a fire after the transaction has ended is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const committed = await outbox.transaction((tx) => tx);
    await assert.rejects(fire(committed, order()), /Cannot fire: the transaction has ended/);
    let rolledBack: Tx | undefined;
    await rejection(outbox.transaction((tx) => {
      rolledBack = tx;
      throw new Error("rolled back");
    }));
    await assert.rejects(fire(rolledBack!, order()), /Cannot fire: the transaction has ended/);
    await assert.rejects(committed.savepoint(() => {}), /the transaction has ended/);
    await given.nothing();
  },
};
