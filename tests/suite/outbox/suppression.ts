import assert from "node:assert/strict";
import { attributed, captureScope, deliverPending, fire, fireAll, receiver, suppressed } from "../../../mod.ts";
import { replayEvents } from "../../../mod.ts";
import type { Cases, Given } from "./given.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

const child = (orderId = 1) => StockReserved({ orderId });
const backfill = { reason: "import of 2019" };

/** The reasons on the events' rows, in the order in which they were fired. */
async function reasons(given: Given): Promise<unknown[]> {
  const rows = await given.database.query(
    `select suppressed_reason from ${given.database.table("events")} order by id`,
  );
  return rows.map((row) => row.suppressed_reason);
}

export const suppressionCases: Cases = {
  "pitfall 18: a suppressed event is recorded with the reason, and nobody hears of it": async (given) => {
    const heard: string[] = [];
    let wakes = 0;
    const hear = (what: string) => () => void heard.push(what);
    const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
    const outbox = given.outbox([
      onOrder("inline", hear("inline"), { mode: "inline" }),
      onOrder("cache", hear("cache"), { mode: "on-commit" }),
      onOrder("notify", hear("notify"), { eager: true }),
      onOrder("stock", hear("stock")),
      onOrder("partners", hear("partners"), {
        targets: () => {
          heard.push("targets");
          return ["a"];
        },
      }),
      onOrder("expire", hear("expire"), {
        due: () => {
          heard.push("due");
          return { hours: 1 };
        },
      }),
    ], { storage });
    const id = await suppressed(backfill, () => outbox.transaction((tx) => fire(tx, order())));
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual([heard, wakes], [[], 0]);
    assert.deepEqual((await given.events()).map((row) => row.id), [id]);
    assert.deepEqual(await reasons(given), ["import of 2019"]);
    assert.deepEqual(await given.rows(), []);
  },

  "pitfall 9: a discarded event gives null and writes nothing": async (given) => {
    const heard: string[] = [];
    const outbox = given.outbox([
      onOrder("inline", () => heard.push("inline"), { mode: "inline" }),
      onOrder("stock"),
    ]);
    const id = await suppressed({ ...backfill, record: false }, () => outbox.transaction((tx) => fire(tx, order())));
    assert.equal(id, null);
    assert.deepEqual(heard, []);
    await given.nothing();
  },

  "events fired together are suppressed each by its name": async (given) => {
    const outbox = given.outbox([onOrder("stock"), receiver(StockReserved, "mail", () => {})]);
    const ids = await suppressed(
      { ...backfill, record: false, events: [OrderPlaced] },
      () => outbox.transaction((tx) => fireAll(tx, [order(1), child(), order(2)])),
    );
    assert.deepEqual(ids.map((id) => id === null), [true, false, true]);
    assert.deepEqual(await given.outcomes(), ["mail pending 0"]);
  },

  "an event that is not named is fired as ever; an empty list names none": async (given) => {
    const outbox = given.outbox([onOrder("stock"), receiver(StockReserved, "mail", () => {})]);
    await suppressed({ ...backfill, events: [StockReserved] }, () => given.fire(outbox, order(), child()));
    await suppressed({ ...backfill, events: [] }, () => given.fire(outbox, order()));
    assert.deepEqual(await given.outcomes(), ["stock pending 0", "stock pending 0"]);
    assert.deepEqual(await reasons(given), [null, "import of 2019", null]);
  },

  "pitfall 17: an inner block does not undo the outer one, and each gives its own reason": async (given) => {
    const outbox = given.outbox([onOrder("stock"), receiver(StockReserved, "mail", () => {})]);
    await suppressed({ reason: "outer", events: [OrderPlaced] }, async () => {
      await suppressed({ reason: "inner", events: [StockReserved] }, () => given.fire(outbox, order(), child()));
      await suppressed({ reason: "innermost" }, () => given.fire(outbox, order(), child()));
      await given.fire(outbox, order(), child());
    });
    await given.fire(outbox, order());
    assert.deepEqual(await reasons(given), ["outer", "inner", "innermost", "innermost", "outer", null, null]);
    assert.deepEqual(await given.outcomes(), ["mail pending 0", "stock pending 0"]);
  },

  "pitfall 17: any block that discards wins, whichever is inside": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const recording = { reason: "recorded", record: true };
    const discarding = { reason: "discarded", record: false };
    for (const [outer, inner] of [[discarding, recording], [recording, discarding]]) {
      const id = await suppressed(outer!, () => suppressed(inner!, () => fire(outbox, order())));
      assert.equal(id, null);
    }
    await given.nothing();
  },

  "pitfall 19: a reason that is missing, a class that is none and a switch that is none are refused at the block":
    async (given) => {
      const wrong = [
        {},
        { reason: "" },
        { reason: "  " },
        { reason: 7 },
        { ...backfill, events: ["orders.placed"] },
        { ...backfill, events: [order()] },
        { ...backfill, events: OrderPlaced },
        { ...backfill, events: "orders.placed" },
        { ...backfill, record: "false" },
        { ...backfill, record: 0 },
        { ...backfill, event: [OrderPlaced] },
        undefined,
      ];
      for (const options of wrong) {
        assert.throws(() => suppressed(options as never, () => assert.fail("entered")), TypeError);
      }
      await given.nothing();
    },

  "an event that is not declared is refused under suppression too": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const firing = suppressed({ ...backfill, record: false }, () => fire(outbox, child()));
    await assert.rejects(firing, /does not declare it/);
  },

  "a suppressed event keeps its attribution, and a long reason is cut to 255 characters": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await attributed(
      { actor: "user:42", correlationId: "chain" },
      () => suppressed({ reason: "r".repeat(400) }, () => given.fire(outbox, order())),
    );
    const [row] = await given.events();
    assert.deepEqual([row?.actor, row?.correlationId], ["user:42", "chain"]);
    assert.deepEqual(await reasons(given), ["r".repeat(255)]);
  },

  "a suppressed event can be replayed later": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId)), onOrder("mail")]);
    const ids = await suppressed(backfill, () => given.fire(outbox, order(7)));
    assert.deepEqual(await replayEvents(outbox, ids, { receivers: ["stock"] }), { reopened: 0, added: 1 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(ran, [7]);
    assert.deepEqual(await reasons(given), ["import of 2019"]);
  },

  "a receiver that a relay runs is not suppressed by what surrounds the relay; an inline one is": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) => fire(ctx, child(1))),
      onOrder("inline", (_, ctx) => fire(ctx, child(2)), { mode: "inline" }),
    ], { events: [StockReserved] });
    await suppressed({ ...backfill, events: [StockReserved] }, async () => {
      await given.fire(outbox, order());
      await deliverPending(outbox);
    });
    assert.deepEqual(await reasons(given), [null, "import of 2019", null]);
  },

  "a captured scope carries suppression too": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const run = suppressed(backfill, () => captureScope());
    await run(() => given.fire(outbox, order()));
    assert.deepEqual(await reasons(given), ["import of 2019"]);
    assert.deepEqual(await given.rows(), []);
  },

  "a suppressed event takes its dedupe key; a discarded one does not": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const once = { dedupeKey: "k", onDuplicate: "ignore" } as const;
    await suppressed({ ...backfill, record: false }, () => outbox.transaction((tx) => fire(tx, order(1), once)));
    const first = await suppressed(backfill, () => outbox.transaction((tx) => fire(tx, order(2), once)));
    assert.equal(await outbox.transaction((tx) => fire(tx, order(3), once)), first);
    assert.deepEqual((await given.events()).map((row) => JSON.parse(row.payload)), [{ orderId: 2 }]);
    assert.deepEqual(await given.rows(), []);
  },
};
