import assert from "node:assert/strict";
import { event, fire, fireAll, receiver } from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

const Third = event<null>("third.happened");
const veto = new Error("veto");
const refuses = (key: string, orderId = 1) =>
  onOrder(key, (order) => {
    if (order.orderId === orderId) throw veto;
  }, { mode: "inline" });

export const inlineCases: Cases = {
  "they run in the order of the list, before fire resolves": async (given) => {
    const ran: string[] = [];
    const slow = onOrder("a", async () => {
      await Promise.resolve();
      ran.push("a");
    }, { mode: "inline" });
    const outbox = given.outbox([slow, onOrder("b", () => ran.push("b"), { mode: "inline" })]);
    await outbox.transaction(async (tx) => {
      await fire(tx, order());
      ran.push("fired");
    });
    assert.deepEqual(ran, ["a", "b", "fired"]);
  },

  "what they write commits with the change, or not at all": async (given) => {
    const outbox = given.outbox([
      onOrder("note", async ({ orderId }, ctx) => {
        const { client } = await ctx.transaction();
        await given.note(client, `order ${orderId}`);
      }, { mode: "inline" }),
    ]);
    await given.fire(outbox, order(1));
    await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order(2));
      throw new Error("rolled back");
    }));
    assert.deepEqual(await given.notes(), ["order 1"]);
  },

  "one that throws vetoes the change": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([
      refuses("check"),
      onOrder("next", () => ran.push("next"), { mode: "inline" }),
      onOrder("after", () => ran.push("after"), { mode: "on-commit" }),
      onOrder("eager", () => ran.push("eager"), { eager: true }),
    ]);
    const error = await rejection(outbox.transaction(async (tx) => {
      await given.note(tx.client, "undone");
      await fire(tx, order());
    }));
    assert.equal(error, veto);
    await given.nothing();
    assert.deepEqual(ran, []);
  },

  "a veto stands even if the caller catches it": async (given) => {
    const outbox = given.outbox([refuses("check")]);
    const error = await rejection(outbox.transaction(async (tx) => {
      await given.note(tx.client, "undone");
      assert.equal(await rejection(fire(tx, order())), veto);
      await given.note(tx.client, "undone too");
    }));
    assert.equal(error, veto);
    await given.nothing();
  },

  "a veto in a savepoint dooms the savepoint alone": async (given) => {
    const outbox = given.outbox([refuses("check", 2), onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      await fire(tx, order(1));
      const error = await rejection(tx.savepoint(async (inner) => {
        await given.note(inner.client, "undone");
        await fire(inner, order(2)).catch(() => {}); // caught, and yet it stands
      }));
      assert.equal(error, veto);
      await given.note(tx.client, "kept");
    });
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [1]);
  },

  "a veto of one that fireAll fired dooms them all": async (given) => {
    const outbox = given.outbox([refuses("check", 2), onOrder("stock")]);
    assert.equal(await rejection(outbox.transaction((tx) => fireAll(tx, [order(1), order(2), order(3)]))), veto);
    await given.nothing();
  },

  "a veto that is no Error stands as it is": async (given) => {
    for (const thrown of [undefined, null, "text", 0]) {
      const outbox = given.outbox([
        onOrder("check", () => {
          throw thrown;
        }, { mode: "inline" }),
      ]);
      const error = await rejection(outbox.transaction(async (tx) => {
        await fire(tx, order()).catch(() => {});
      }));
      assert.equal(error as unknown, thrown);
    }
    await given.nothing();
  },

  "pitfall 22: what they fire is in the same transaction, and names its cause": async (given) => {
    const outbox = given.outbox([
      onOrder("child", ({ orderId }, ctx) => fire(ctx, StockReserved({ orderId })), { mode: "inline" }),
      receiver(StockReserved, "grandchild", (_, ctx) => fire(ctx, Third(null)), { mode: "inline" }),
    ], { events: [Third] });
    const [parent] = await given.fire(outbox, order());
    const [first, second, third] = await given.events();
    assert.deepEqual([first?.causationId, first?.correlationId], [null, null]);
    assert.deepEqual([second?.causationId, second?.correlationId], [parent, parent]);
    assert.deepEqual([third?.causationId, third?.correlationId], [second?.id, parent]);
    await given.fire(outbox, Third(null));
    assert.equal((await given.events()).at(-1)?.causationId, null);
  },

  "the veto of a child dooms the transaction of its parent": async (given) => {
    const outbox = given.outbox([
      onOrder("child", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 })).catch(() => {}), { mode: "inline" }),
      receiver(StockReserved, "check", () => {
        throw veto;
      }, { mode: "inline" }),
    ]);
    assert.equal(await rejection(outbox.transaction((tx) => fire(tx, order()))), veto);
    await given.nothing();
  },

  "they are told of the event, have no row, and nothing to acknowledge": async (given) => {
    const told: unknown[] = [];
    const outbox = given.outbox([
      onOrder("check", async (_, ctx) => {
        told.push([ctx.eventName, ctx.version, ctx.receiverKey, ctx.deliveryId, ctx.attempt, ctx.signal.aborted]);
        told.push([ctx.eventId, ctx.occurredAt.getTime(), ctx.scope]);
        await assert.rejects(ctx.acknowledge({}), /only a durable receiver has a delivery/);
      }, { mode: "inline" }),
    ]);
    const occurredAt = new Date(0);
    const id = await outbox.transaction((tx) => fire(tx, order(), { occurredAt }));
    assert.deepEqual(told, [["orders.placed", 1, "check", "", 1, false], [id, 0, {}]]);
  },

  "they get a frozen payload that is not the caller's": async (given) => {
    const payload = { orderId: 1, lines: [{ sku: "a" }] };
    const seen: { lines?: { sku: string }[] }[] = [];
    const outbox = given.outbox([onOrder("check", (order) => seen.push(order as never), { mode: "inline" })]);
    await given.fire(outbox, order().definition(payload as never));
    assert.deepEqual(seen, [payload]);
    assert.notEqual(seen[0], payload);
    assert.throws(() => seen[0]!.lines!.push({ sku: "b" }), TypeError);
    assert.equal(payload.lines.length, 1);
  },
};
