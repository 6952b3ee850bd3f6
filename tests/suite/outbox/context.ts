import assert from "node:assert/strict";
import { deliverPending, type DeliveryContext, event, fire, receiver } from "../../../mod.ts";
import { type Cases, later } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

export const contextCases: Cases = {
  "a receiver is told of the event, the delivery and the attempt": async (given) => {
    const Keyed = event<{ orderId: number }>("orders.keyed", { version: 2, key: (order) => `order-${order.orderId}` });
    const told: Record<string, unknown>[] = [];
    const outbox = given.outbox([
      receiver(Keyed, "stock", (_, ctx) => {
        const { eventId, eventName, version, deliveryId, receiverKey, target, attempt, maxAttempts } = ctx;
        const { key, actor, scope, correlationId, causationId } = ctx;
        told.push({ eventId, eventName, version, deliveryId, receiverKey, target, attempt, maxAttempts });
        told.push({ key, actor, scope, correlationId, causationId, aborted: ctx.signal.aborted });
        told.push({ occurredAt: ctx.occurredAt.getTime() });
        assert.ok(Math.abs(ctx.dueAt.getTime() - Date.now()) < 60_000);
      }, { maxAttempts: 4 }),
    ]);
    const occurredAt = new Date(1_000_000_000_123);
    const eventId = await outbox.transaction((tx) => fire(tx, Keyed({ orderId: 9 }), { occurredAt }));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    const { id: deliveryId } = await given.row();
    assert.deepEqual(told, [
      {
        eventId,
        eventName: "orders.keyed",
        version: 2,
        deliveryId,
        receiverKey: "stock",
        target: "",
        attempt: 1,
        maxAttempts: 4,
      },
      {
        key: "order-9",
        actor: undefined,
        scope: {},
        correlationId: undefined,
        causationId: undefined,
        aborted: false,
      },
      { occurredAt: occurredAt.getTime() },
    ]);
  },

  "the attempt is numbered from one, and its due moment does not move with the waits": async (given) => {
    const told: unknown[] = [];
    const outbox = given.outbox([
      onOrder("mail", (_, ctx) => {
        told.push([ctx.attempt, ctx.dueAt.getTime()]);
        throw new Error("no luck");
      }),
    ]);
    await given.fire(outbox, order());
    for (const hours of [1, 2, 3]) await deliverPending(outbox, { now: later({ hours }) });
    const due = Number((await given.row()).owedSince / 1000n);
    assert.deepEqual(told, [[1, due], [2, due], [3, due]]);
  },

  "a child names its parent and the chain that both belong to": async (given) => {
    const told: unknown[] = [];
    const Third = event<null>("third.happened");
    const outbox = given.outbox([
      onOrder("first", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 }))),
      receiver(StockReserved, "second", (_, ctx) => {
        told.push([ctx.causationId, ctx.correlationId]);
        return fire(ctx, Third(null));
      }),
    ], { events: [Third] });
    const [root] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const [, second, third] = await given.events();
    assert.deepEqual(told, [[root, root]]);
    assert.deepEqual([second?.causationId, second?.correlationId], [root, root]);
    assert.deepEqual([third?.causationId, third?.correlationId], [second?.id, root]);
  },

  "pitfall 22: the cause does not leak to the next delivery, nor out of the call": async (given) => {
    const outbox = given.outbox([
      onOrder("a", async () => {
        await given.events();
      }),
      onOrder("b", () => outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 2 })))),
    ], { events: [StockReserved] });
    const [parent] = await given.fire(outbox, order());
    await deliverPending(outbox);
    await given.fire(outbox, StockReserved({ orderId: 3 }));
    assert.deepEqual((await given.events()).map((event) => event.causationId), [null, parent, null]);
  },

  "its log names the delivery on each line": async (given) => {
    const outbox = given.outbox([onOrder("stock", (_, ctx) => ctx.log.info("reserved {left}", { left: 3 }))]);
    const [eventId] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const [line] = given.logs.records.filter((record) => record.category[1] === "receiver");
    const { receiver: key, delivery, eventId: id, attempt, left } = line!.properties;
    assert.deepEqual([key, delivery, id, attempt, left], ["stock", (await given.row()).id, eventId, 1, 3]);
  },

  "nothing of it can be used once the receiver has returned": async (given) => {
    let kept: DeliveryContext | undefined;
    const outbox = given.outbox([onOrder("stock", (_, ctx) => void (kept = ctx))], { events: [StockReserved] });
    await given.fire(outbox, order());
    await deliverPending(outbox);
    await assert.rejects(kept!.transaction(), /the receiver has returned/);
    await assert.rejects(fire(kept!, StockReserved({ orderId: 1 })), /the receiver has returned/);
    await assert.rejects(kept!.acknowledge({}), /the receiver has returned/);
    assert.equal((await given.events()).length, 1);
  },
};
