import assert from "node:assert/strict";
import { DuplicateEvent, event, fire, fireAll, receiver } from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

export const dedupeCases: Cases = {
  "a key that was fired is refused, naming the event that is there": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const first = await outbox.transaction((tx) => fire(tx, order(1), { dedupeKey: "k" }));
    await outbox.transaction(async (tx) => {
      const error = await rejection(fire(tx, order(2), { dedupeKey: "k" }));
      assert.ok(error instanceof DuplicateEvent);
      assert.deepEqual([error.eventName, error.existingId], ["orders.placed", first]);
      await given.note(tx.client, "usable");
    });
    assert.deepEqual((await given.events()).map(({ id }) => id), [first]);
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
    assert.deepEqual(await given.notes(), ["usable"]);
  },

  "with ignore it gives the id that is there, and nothing else happens": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("stock"),
      onOrder("inline", () => ran.push("inline"), { mode: "inline" }),
      onOrder("after", () => ran.push("after"), { mode: "on-commit" }),
      onOrder("eager", () => ran.push("eager"), { eager: true }),
    ]);
    const once = { dedupeKey: "k", onDuplicate: "ignore" } as const;
    const first = await outbox.transaction((tx) => fire(tx, order(1), once));
    ran.splice(0);
    assert.equal(await outbox.transaction((tx) => fire(tx, order(2), once)), first);
    assert.deepEqual(ran, []);
    assert.equal((await given.events()).length, 1);
    assert.equal((await given.rows()).length, 2);
  },

  "the same key twice in one transaction is a duplicate too": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      const first = await fire(tx, order(1), { dedupeKey: "k" });
      await assert.rejects(fire(tx, order(2), { dedupeKey: "k" }), { name: "DuplicateEvent", existingId: first! });
    });
    assert.equal((await given.events()).length, 1);
  },

  "the key is of one event name": async (given) => {
    const outbox = given.outbox([onOrder("stock")], { events: [StockReserved] });
    await outbox.transaction(async (tx) => {
      await fire(tx, order(), { dedupeKey: "k" });
      await fire(tx, StockReserved({ orderId: 1 }), { dedupeKey: "k" });
    });
    assert.equal((await given.events()).length, 2);
  },

  "a key whose transaction was rolled back is free": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order(1), { dedupeKey: "k" });
      throw new Error("rolled back");
    }));
    await outbox.transaction((tx) => fire(tx, order(2), { dedupeKey: "k" }));
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload)), [{ orderId: 2 }]);
  },

  "events fired together of which one is a duplicate leave nothing of any": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("stock", () => ran.push("stock"), { eager: true }),
      onOrder("inline", () => ran.push("inline"), { mode: "inline" }),
      receiver(StockReserved, "mail", () => ran.push("mail"), { mode: "on-commit" }),
    ]);
    await outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 1 }), { dedupeKey: "k" }));
    ran.splice(0);
    await outbox.transaction(async (tx) => {
      const both = fireAll(tx, [order(2), StockReserved({ orderId: 2 })], { dedupeKey: () => "k" });
      await assert.rejects(both, { name: "DuplicateEvent", eventName: "stock.reserved" });
      await given.note(tx.client, "usable");
    });
    assert.deepEqual(ran, []);
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(await given.rows(), []);
    assert.deepEqual(await given.notes(), ["usable"]);
  },

  "events fired together may have a key each, and those that are there are passed over when asked": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const keyed = (first: number) => [first, first + 1].map((id) => order(id));
    const dedupeKey = ({ payload }: { payload: unknown }) => `order ${(payload as { orderId: number }).orderId}`;
    const [one, two] = await outbox.transaction((tx) => fireAll(tx, keyed(1), { dedupeKey }));
    const [again, three] = await outbox.transaction((tx) =>
      fireAll(tx, keyed(2), { dedupeKey, onDuplicate: "ignore" })
    );
    assert.equal(again, two);
    assert.deepEqual((await given.events()).length, 3);
    assert.equal(new Set([one, two, three]).size, 3);
    assert.equal((await given.rows()).length, 3);
  },

  "a key that could not be stored is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const dedupeKey of ["", "k".repeat(256), "a\0b", "\ud800", 7]) {
      await assert.rejects(
        outbox.transaction((tx) => fire(tx, order(), { dedupeKey: dedupeKey as string })),
        /dedupeKey/,
      );
    }
    await given.nothing();
  },

  "pitfall 23: an event that goes once it is settled cannot have a key; one that is kept for a time can": async (
    given,
  ) => {
    for (const retention of ["succeeded", "settled"] as const) {
      const Short = event<null>("short.lived", { retention });
      const outbox = given.outbox([], { events: [Short] });
      await assert.rejects(
        outbox.transaction((tx) => fire(tx, Short(null), { dedupeKey: "k" })),
        /retention that is a time/,
      );
    }
    const Long = event<null>("short.lived", { retention: { days: 1 } });
    await given.outbox([], { events: [Long] }).transaction((tx) => fire(tx, Long(null), { dedupeKey: "k" }));
    assert.equal((await given.events()).length, 1);
  },

  "two transactions with one key at once: one wins, the other is told": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const attempts = await Promise.allSettled(
      [1, 2].map((n) => outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: n }), { dedupeKey: "k" }))),
    );
    const [won] = attempts.filter((one) => one.status === "fulfilled");
    const [lost] = attempts.filter((one) => one.status === "rejected");
    assert.ok(lost?.reason instanceof DuplicateEvent, String(lost?.reason));
    assert.equal(lost.reason.existingId, won?.value);
    assert.equal((await given.events()).length, 1);
  },
};
