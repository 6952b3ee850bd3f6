import assert from "node:assert/strict";
import { deliverPending, drainOutbox, event, type Outbox, settled } from "../../../mod.ts";
import { type Cases, later, rejection } from "./given.ts";
import { failing, onOrder, order, OrderPlaced } from "./samples.ts";

/** What a page shows of an order: it waits a moment for the stock and then says how things are. */
async function stateOf(outbox: Outbox, eventId: string, patience: AbortSignal): Promise<string> {
  try {
    const [stock] = await settled(outbox, eventId, { receivers: ["stock"], signal: patience });
    return stock?.status === "succeeded" ? "confirmed" : "sold out";
  } catch {
    return "processing";
  }
}

export const settledCases: Cases = {
  "it waits until every debt is settled, and tells how each ended": async (given) => {
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const outbox = given.outbox([
      onOrder("stock", () => {
        begun.resolve();
        return gate.promise;
      }),
      failing("mail", { maxAttempts: 1 }),
    ]);
    const [id] = await given.fire(outbox, order());
    const pending = settled(outbox, id!);
    const delivering = deliverPending(outbox);
    await begun.promise;
    const waiting = settled(outbox, id!, { receivers: ["stock"] });
    await given.rows();
    gate.resolve();
    await delivering;
    assert.deepEqual(await waiting, [{ receiverKey: "stock", target: "", status: "succeeded" }]);
    assert.deepEqual(await pending, [
      { receiverKey: "stock", target: "", status: "succeeded" },
      { receiverKey: "mail", target: "", status: "dead" },
    ]);
  },

  "a failed delivery is not settled: it is owed": async (given) => {
    const outbox = given.outbox([failing("mail", { maxAttempts: 2 })]);
    const [id] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const stop = new AbortController();
    const waiting = settled(outbox, id!, { signal: stop.signal });
    await given.rows();
    stop.abort(new Error("no patience"));
    assert.equal((await rejection(waiting)).message, "no patience");
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    assert.deepEqual((await settled(outbox, id!)).map(({ status }) => status), ["dead"]);
  },

  "an orphan is settled": async (given) => {
    const [id] = await given.fire(given.outbox([onOrder("gone")]), order());
    const outbox = given.outbox([], { events: [OrderPlaced] });
    await drainOutbox(outbox);
    assert.deepEqual(await settled(outbox, id!), [{ receiverKey: "gone", target: "", status: "orphaned" }]);
  },

  "receivers narrow it down, in the order in which the debts were written": async (given) => {
    const outbox = given.outbox([
      failing("mail"),
      onOrder("partners", () => {}, { targets: () => ["b", "a"] }),
      onOrder("stock"),
    ]);
    const [id] = await given.fire(outbox, order());
    await deliverPending(outbox);
    const ended = await settled(outbox, id!, { receivers: ["stock", "partners"] });
    assert.deepEqual(ended.map(({ receiverKey, target }) => receiverKey + target), ["partnersb", "partnersa", "stock"]);
  },

  "only this event's debts count": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const [first] = await given.fire(outbox, order(1));
    await deliverPending(outbox);
    await given.fire(outbox, order(2));
    assert.equal((await settled(outbox, first!)).length, 1);
  },

  "an event without debts is settled": async (given) => {
    const Lonely = event<null>("lonely.happened");
    const outbox = given.outbox([], { events: [Lonely] });
    const [id] = await given.fire(outbox, Lonely(null));
    assert.deepEqual(await settled(outbox, id!), []);
  },

  "a signal ends the wait with its reason, at once when it has aborted": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const [id] = await given.fire(outbox, order());
    await assert.rejects(settled(outbox, id!, { signal: AbortSignal.timeout(20) }), { name: "TimeoutError" });
    await assert.rejects(settled(outbox, id!, { signal: AbortSignal.abort() }), { name: "AbortError" });
  },

  "a receiver that is not listed is refused, or a typing error would pass for settled": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const [id] = await given.fire(outbox, order());
    await assert.rejects(settled(outbox, id!, { receivers: ["stok"] }), (error: Error) => {
      assert.ok(error instanceof RangeError);
      assert.match(error.message, /"stok"/);
      return true;
    });
    for (const options of [{ receivers: "stock" }, { receiver: ["stock"] }]) {
      await assert.rejects(settled(outbox, id!, options as never), TypeError);
    }
    for (const wrong of ["41", 7, undefined, null]) {
      await assert.rejects(settled(outbox, wrong as never), TypeError);
    }
  },

  "a page that waits a moment says confirmed, processing or sold out, and never what is not so yet": async (given) => {
    let left = 1;
    const outbox = given.outbox([
      onOrder("stock", () => {
        if (left-- === 0) throw new Error("none left");
      }, { maxAttempts: 1 }),
      failing("mail"),
    ]);
    const patience = () => AbortSignal.timeout(50);
    const [first, second] = await given.fire(outbox, order(1), order(2));
    assert.equal(await stateOf(outbox, first!, patience()), "processing");
    await deliverPending(outbox);
    assert.equal(await stateOf(outbox, first!, patience()), "confirmed");
    assert.equal(await stateOf(outbox, second!, patience()), "sold out");
  },
};
