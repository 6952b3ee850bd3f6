import assert from "node:assert/strict";
import { deliverPending, fire, receiver } from "../../../mod.ts";
import { type Cases, later, rejection } from "./given.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

export const outsideCases: Cases = {
  "an event fired without a transaction gets its own": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([onOrder("stock"), onOrder("after", () => ran.push("after"), { mode: "on-commit" })]);
    const id = await fire(outbox, order());
    assert.deepEqual((await given.events()).map((event) => event.id), [id]);
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
    assert.deepEqual(ran, ["after"]);
  },

  "it warns once for each event name": async (given) => {
    const outbox = given.outbox([onOrder("stock")], { events: [StockReserved] });
    for (const n of [1, 2, 3]) {
      await fire(outbox, order(n));
      await fire(outbox, StockReserved({ orderId: n }));
    }
    const lines = given.logs.lines("warning", "firing");
    assert.equal(lines.length, 2);
    assert.match(lines[0]!, /orders\.placed.*outside a transaction/);
    assert.match(lines[1]!, /stock\.reserved.*outside a transaction/);
  },

  "the warning can be turned off": async (given) => {
    await fire(given.outbox([onOrder("stock")], { settings: { warnOutsideTransaction: false } }), order());
    assert.deepEqual(given.logs.lines("warning"), []);
  },

  "inside a durable receiver it warns each time": async (given) => {
    const outbox = given.outbox([
      onOrder("again", async () => {
        await fire(outbox, StockReserved({ orderId: 1 }));
        throw new Error("no luck");
      }),
    ], { events: [StockReserved], settings: { warnOutsideTransaction: false } });
    await given.fire(outbox, order());
    await deliverPending(outbox);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    const lines = given.logs.lines("warning", "firing");
    assert.equal(lines.length, 2);
    for (const line of lines) assert.match(line, /receiver again fired stock\.reserved outside its transaction/);
    assert.equal((await given.events()).length, 3); // the order, and a child for each attempt
  },

  "what a receiver fires that way still names its cause": async (given) => {
    const outbox = given.outbox([onOrder("child", () => fire(outbox, StockReserved({ orderId: 1 })))], {
      events: [StockReserved],
    });
    const [parent] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const child = (await given.events()).find(({ name }) => name === "stock.reserved");
    assert.deepEqual([child?.causationId, child?.correlationId], [parent, parent]);
  },

  "inside an open transaction it does not wait for itself": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const fireOutside = outbox.transaction(() => fire(outbox, order()));
    if (given.oneWriter) {
      assert.match((await rejection(fireOutside)).message, /would wait for itself/);
      await given.nothing();
    } else {
      await fireOutside;
      assert.equal((await given.events()).length, 1);
    }
  },

  "an on-commit receiver may fire without a warning for durable receivers": async (given) => {
    const outbox = given.outbox([
      onOrder("after", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 })), { mode: "on-commit" }),
      receiver(StockReserved, "mail", () => {}),
    ]);
    const [parent] = await given.fire(outbox, order());
    assert.deepEqual(await given.outcomes(), ["mail pending 0"]);
    const child = (await given.events()).find(({ name }) => name === "stock.reserved");
    assert.equal(child?.causationId, parent);
    assert.deepEqual(given.logs.lines("warning", "firing").filter((line) => line.includes("a retry fires")), []);
    assert.equal(OrderPlaced.name, "orders.placed");
  },
};
