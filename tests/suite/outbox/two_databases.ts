import assert from "node:assert/strict";
import { createOutbox, deliverPending, fire, type Outbox } from "../../../mod.ts";
import type { OpenDatabase } from "../storage/harness.ts";
import { type Cases, type Given, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

/** The outbox of a second database in the same process. */
async function besides(given: Given): Promise<{ other: OpenDatabase; outside: Outbox }> {
  const other = await given.fresh();
  await other.storage.migrate();
  const outside = createOutbox({ storage: other.storage, receivers: [onOrder("stock")], events: [StockReserved] });
  return { other, outside };
}

const warnings = (given: Given) => given.logs.lines("warning", "firing");

export const twoDatabaseCases: Cases = {
  "pitfall 3: a transaction of another database is none of this one's: firing there warns, and both commit": async (
    given,
  ) => {
    const { other, outside } = await besides(given);
    await using _ = other;
    const outbox = given.outbox([onOrder("stock")]);
    await outside.transaction(async (tx) => {
      await fire(tx, order(1));
      assert.deepEqual(warnings(given), []);
      await fire(outbox, order(2));
    });
    assert.equal(warnings(given).length, 1);
    assert.match(warnings(given)[0]!, /orders\.placed was fired outside a transaction/);
    const payloads = async (events: Promise<{ payload: string }[]>) =>
      (await events).map((row) => JSON.parse(row.payload));
    assert.deepEqual(await payloads(given.events()), [{ orderId: 2 }]);
    assert.deepEqual(await payloads(other.storage.findEvents({})), [{ orderId: 1 }]);
  },

  "pitfall 3: a receiver can use another database's outbox, and a failure undoes what it did in its own": async (
    given,
  ) => {
    const { other, outside } = await besides(given);
    await using _ = other;
    const outbox = given.outbox([
      onOrder("bridge", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        await outside.transaction((tx) => fire(tx, StockReserved({ orderId: 1 })));
        throw new Error("no luck");
      }),
    ]);
    const [parent] = await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.equal((await given.row()).lastError, "Error: no luck");
    assert.deepEqual(await given.notes(), []);
    const children = await other.storage.findEvents({});
    assert.deepEqual(children.map((row) => row.causationId), [parent]);
  },

  "one that waits for itself is seen through the other database's transaction": async (given) => {
    const { other, outside } = await besides(given);
    await using _ = other;
    const outbox = given.outbox([onOrder("stock")]);
    const firing = outbox.transaction(() => outside.transaction(() => fire(outbox, order())));
    if (given.oneWriter) {
      assert.match((await rejection(firing)).message, /use the open transaction/);
      await given.nothing();
    } else {
      const id = await firing;
      assert.deepEqual((await given.events()).map((row) => row.id), [id]);
    }
  },
};
