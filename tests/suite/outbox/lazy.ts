import assert from "node:assert/strict";
import { deliverPending, type DeliveryContext, fire, lazy } from "../../../mod.ts";
import { type Cases, later, rejection } from "./given.ts";
import { onOrder, order } from "./samples.ts";

type Order = { orderId: number };

export const lazyCases: Cases = {
  "it is loaded when it is first needed, and once: a process that only fires loads nothing": async (given) => {
    let loads = 0;
    const ran: unknown[] = [];
    const outbox = given.outbox([
      onOrder(
        "mail",
        lazy<Order>(() => {
          loads++;
          return Promise.resolve({ default: (order, ctx) => ran.push([order, ctx.receiverKey]) });
        }),
      ),
    ]);
    await given.fire(outbox, order(1), order(2));
    assert.equal(loads, 0);
    assert.deepEqual(await deliverPending(outbox, { concurrency: 2 }), { succeeded: 2 });
    assert.equal(loads, 1);
    assert.deepEqual(ran, [[{ orderId: 1 }, "mail"], [{ orderId: 2 }, "mail"]]);
  },

  "what it loads works in the delivery's transaction": async (given) => {
    const handler = async (_: Order, ctx: DeliveryContext) => {
      await given.note((await ctx.transaction()).client, "lazily");
    };
    const outbox = given.outbox([onOrder("mail", lazy<Order>(() => Promise.resolve(handler)))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["lazily"]);
  },

  "a module that cannot be loaded fails the attempt, and the next one finds it": async (given) => {
    let loads = 0;
    const outbox = given.outbox([
      onOrder(
        "mail",
        lazy<Order>(() => {
          if (++loads === 1) throw new Error("no such file");
          if (loads === 2) return Promise.reject(new Error("half a file"));
          return Promise.resolve(() => {});
        }),
      ),
    ]);
    await given.fire(outbox, order());
    const errors: unknown[] = [];
    for (const hours of [1, 2, 3]) {
      await deliverPending(outbox, { now: later({ hours }) });
      errors.push((await given.row()).lastError);
    }
    assert.deepEqual(errors.slice(0, 2), ["Error: no such file", "Error: half a file"]);
    assert.deepEqual(await given.outcomes(), ["mail succeeded 3"]);
  },

  "a module without the handler as its default export fails the attempt, and says so": async (given) => {
    for (const module of [{}, { default: "text" }, undefined]) {
      const outbox = given.outbox([onOrder("mail", lazy<Order>(() => Promise.resolve(module as never)))]);
      await given.fire(outbox, order());
      assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    }
    const errors = (await given.rows()).map((row) => row.lastError);
    for (const error of errors) assert.match(error!, /^TypeError: .*must have the handler as its default export/);
    assert.equal(errors.length, 3);
  },

  "what it throws is the receiver's own error": async (given) => {
    const thrown = new RangeError("mine");
    const outbox = given.outbox([onOrder("mail", lazy<Order>(() => Promise.resolve(() => Promise.reject(thrown))))]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.equal((await given.row()).lastError, "RangeError: mine");
  },

  "an inline one can veto": async (given) => {
    const veto = new Error("veto");
    const outbox = given.outbox([
      onOrder(
        "limit",
        lazy<Order>(() =>
          Promise.resolve(() => {
            throw veto;
          })
        ),
        { mode: "inline" },
      ),
    ]);
    assert.equal(await rejection(outbox.transaction((tx) => fire(tx, order()))), veto);
    await given.nothing();
  },
};
