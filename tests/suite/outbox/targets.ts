import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import {
  anyEvent,
  attributed,
  deliverPending,
  type DeliveryContext,
  drainOutbox,
  fire,
  receiver,
  type ReceiverOptions,
  replayEvents,
  type TargetsFunction,
} from "../../../mod.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

type Order = { orderId: number };

/** A fan-out of orders that keeps what each of its deliveries was told. */
function fanOut(
  targets: TargetsFunction<Order> | readonly string[],
  options: ReceiverOptions = {},
  handler: (target: string, ctx: DeliveryContext) => unknown = () => {},
) {
  const ran: string[] = [];
  const partners = onOrder("partners", (_, ctx) => {
    ran.push(ctx.target);
    return handler(ctx.target, ctx);
  }, { ...options, targets: Array.isArray(targets) ? () => targets : targets as TargetsFunction<Order> });
  return { partners, ran };
}

/** `"target status attempts"` of every delivery, in the order of their ids. */
async function byTarget(given: Given): Promise<string[]> {
  return (await given.rows()).map(({ target, status, attempts }) => `${target} ${status} ${attempts}`);
}

export const targetCases: Cases = {
  "each target is a row of its own, and its delivery is told which": async (given) => {
    const { partners, ran } = fanOut(["a", "b", "c"]);
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order());
    assert.deepEqual(await byTarget(given), ["a pending 0", "b pending 0", "c pending 0"]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
    assert.deepEqual(ran, ["a", "b", "c"]);
  },

  "duplicates are dropped, and the first of each keeps its place": async (given) => {
    await given.fire(given.outbox([fanOut(["b", "a", "b", "A", "a"]).partners]), order());
    assert.deepEqual((await given.rows()).map(({ target }) => target), ["b", "a", "A"]);
  },

  "none means no row, no wake and no error": async (given) => {
    let wakes = 0;
    const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
    const outbox = given.outbox([fanOut([]).partners], { storage });
    await given.fire(outbox, order());
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(await given.rows(), []);
    assert.equal(wakes, 0);
    assert.deepEqual(await deliverPending(outbox), {});
  },

  "any iterable will do, and a promise of one": async (given) => {
    const outbox = given.outbox([
      onOrder("set", () => {}, { targets: () => new Set(["a", "b"]) }),
      onOrder("generator", () => {}, {
        *targets() {
          yield "c";
        },
      }),
      onOrder("promise", async () => {}, {
        targets: () => Promise.resolve(["d"]),
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual((await given.rows()).map((row) => row.receiverKey + row.target), [
      "seta",
      "setb",
      "generatorc",
      "promised",
    ]);
  },

  "what is no list of non-empty strings refuses the fire, and nothing is written": async (given) => {
    const wrong: [unknown, RegExp][] = [
      ["partner-1", /expected a list of strings, got string/],
      [undefined, /expected a list of strings, got undefined/],
      [null, /expected a list of strings, got null/],
      [{ a: 1 }, /expected a list of strings, got object/],
      [["a", 7], /each is a non-empty string, got 7/],
      [["a", null], /each is a non-empty string, got null/],
      [["a", {}], /each is a non-empty string, got object/],
      [["a", ""], /each is a non-empty string, got an empty one/],
      [["a\0b"], /one has a NUL or a lone surrogate/],
      [["\ud800"], /one has a NUL or a lone surrogate/],
    ];
    for (const [returned, message] of wrong) {
      const outbox = given.outbox([fanOut(() => returned as string[]).partners]);
      const error = await rejection(outbox.transaction((tx) => fire(tx, order())));
      assert.ok(error instanceof TypeError, String(error));
      assert.match(error.message, message);
      assert.match(error.message, /receiver "partners"/);
    }
    await given.nothing();
  },

  "they are asked for in the firing transaction, and see what it has written": async (given) => {
    const { partners } = fanOut(async (_, ctx) => {
      const { client } = await ctx.transaction();
      const rows = await given.database.execute(client, `select note from ${given.database.table("notes")}`);
      return rows.map((row) => String(row.note));
    });
    const outbox = given.outbox([partners]);
    await outbox.transaction(async (tx) => {
      await given.note(tx.client, "uncommitted");
      await fire(tx, order());
    });
    assert.deepEqual(await byTarget(given), ["uncommitted pending 0"]);
  },

  "pitfall 105: what targets throws is what fire throws, and change, event and rows are gone": async (given) => {
    const thrown = new Error("no directory");
    const { partners } = fanOut(() => {
      throw thrown;
    });
    const outbox = given.outbox([onOrder("stock"), partners]);
    const error = await rejection(outbox.transaction(async (tx) => {
      await given.note(tx.client, "change");
      await fire(tx, order());
    }));
    assert.equal(error, thrown);
    await given.nothing();
  },

  "pitfall 102: targets of ten thousand characters, and two that differ after three thousand, are rows of their own":
    async (given) => {
      const common = "x".repeat(3000);
      // Random, since an index would hold a repeated letter compressed.
      const long = Array.from(
        { length: 157 },
        (_, i) => createHash("sha256").update(String(i)).digest("hex"),
      ).join("").slice(0, 10_000);
      const targets = [long, `${common}a`, `${common}b`];
      const { partners, ran } = fanOut([...targets, long, `${common}a`]);
      const outbox = given.outbox([partners]);
      await given.fire(outbox, order());
      assert.deepEqual((await given.rows()).map((row) => row.target), targets);
      assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
      assert.deepEqual(ran, targets);
    },

  "pitfall 103: the stored digest is the hash of the target, and the blank target has the blank one's": async (
    given,
  ) => {
    await given.fire(given.outbox([fanOut(["a"]).partners, onOrder("plain")]), order());
    const rows = await given.database.query(
      `select target, target_digest from ${given.database.table("deliveries")} order by target`,
    );
    const hex = rows.map(({ target_digest: digest }) => digest === null ? "" : hexOf(digest));
    assert.deepEqual(hex, ["", createHash("sha256").update("a").digest("hex")]);
  },

  "pitfall 106: a target that dies leaves its siblings as they are": async (given) => {
    const { partners, ran } = fanOut(["a", "b", "c"], { maxAttempts: 5 }, (target) => {
      if (target === "b") throw new Error("410 Gone");
    });
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 2, failed: 4, dead: 1 });
    const ended = (await byTarget(given)).sort();
    assert.deepEqual(ended, ["a succeeded 1", "b dead 5", "c succeeded 1"]);
    assert.deepEqual(ran.filter((target) => target === "b").length, 5);
  },

  "each target waits by its own backoff": async (given) => {
    let broken = true;
    const { partners } = fanOut(["a", "b"], { backoff: { base: { minutes: 1 }, cap: { minutes: 1 } } }, (target) => {
      if (broken && target === "a") throw new Error("no luck");
    });
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1, succeeded: 1 });
    broken = false;
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 2 }) }), { succeeded: 1 });
  },

  "onFailure is told the target": async (given) => {
    const told: string[] = [];
    const { partners } = fanOut(["a", "b"], {
      onFailure: ({ target, status }) => void told.push(`${target} ${status}`),
    }, (target) => {
      if (target === "b") throw new Error("no luck");
    });
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(told, ["b failed"]);
  },

  "an eager fan-out attempts every target at the commit": async (given) => {
    const { partners, ran } = fanOut(["a", "b", "c"], { eager: true }, async (target, ctx) => {
      await given.note((await ctx.transaction()).client, target);
    });
    await given.fire(given.outbox([partners]), order());
    assert.deepEqual(ran.sort(), ["a", "b", "c"]);
    assert.deepEqual(await given.notes(), ["a", "b", "c"]);
    assert.deepEqual((await byTarget(given)).sort(), ["a succeeded 1", "b succeeded 1", "c succeeded 1"]);
  },

  "an eager fan-out runs no more at a time than the database can carry": async (given) => {
    let running = 0;
    let most = 0;
    const { partners } = fanOut(upTo(5).map(String), { eager: true }, async () => {
      most = Math.max(most, ++running);
      for (let i = 0; i < 20; i++) await Promise.resolve();
      running--;
    });
    await given.fire(given.outbox([partners]), order());
    assert.ok(most >= 1 && most <= given.storage.capabilities.maxConcurrency, `${most} at a time`);
  },

  "a plain receiver beside a fan-out keeps its one row without a target": async (given) => {
    const outbox = given.outbox([fanOut(["a", "b"]).partners, onOrder("stock")]);
    await given.fire(outbox, order());
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => [row.receiverKey, row.target]), [
      ["partners", "a"],
      ["partners", "b"],
      ["stock", ""],
    ]);
  },

  "a receiver that is given targets while rows are owed delivers those as written, without a target": async (given) => {
    await given.fire(given.outbox([onOrder("partners")]), order(1));
    const { partners, ran } = fanOut(["a"]);
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order(2));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(ran, ["", "a"]);
  },

  "a receiver that loses its targets while rows are owed delivers those as written, with their target": async (
    given,
  ) => {
    await given.fire(given.outbox([fanOut(["a", "b"]).partners]), order());
    const ran: string[] = [];
    const outbox = given.outbox([onOrder("partners", (_, ctx) => ran.push(ctx.target))]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(ran, ["a", "b"]);
  },

  "at fire they are told of the event, of attempt one and of no target": async (given) => {
    const told: unknown[] = [];
    const { partners } = fanOut((payload, ctx) => {
      const { eventId, eventName, version, attempt, target, deliveryId, receiverKey } = ctx;
      told.push({ payload, eventId, eventName, version, attempt, target, deliveryId, receiverKey });
      told.push({ actor: ctx.actor, scope: ctx.scope, correlationId: ctx.correlationId });
      return ["a"];
    });
    const outbox = given.outbox([partners]);
    const [eventId] = await attributed(
      { actor: "user:42", correlationId: "chain", facts: { ip: "192.0.2.1" } },
      () => given.fire(outbox, order(7)),
    );
    assert.deepEqual(told, [
      {
        payload: { orderId: 7 },
        eventId,
        eventName: "orders.placed",
        version: 1,
        attempt: 1,
        target: "",
        deliveryId: "",
        receiverKey: "partners",
      },
      { actor: "user:42", scope: { ip: "192.0.2.1" }, correlationId: "chain" },
    ]);
  },

  "the payload that they see is frozen, and the one that receivers get": async (given) => {
    const { partners } = fanOut((payload) => {
      assert.throws(() => {
        (payload as { orderId: number }).orderId = 2;
      }, TypeError);
      return [String(payload.orderId)];
    });
    await given.fire(given.outbox([partners]), order(1));
    assert.deepEqual(await byTarget(given), ["1 pending 0"]);
  },

  "a fan-out of a thousand is one fire": async (given) => {
    const { partners, ran } = fanOut(upTo(1000).map((n) => `partner-${n}`));
    const outbox = given.outbox([partners]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1000 });
    assert.deepEqual(ran, upTo(1000).map((n) => `partner-${n}`));
  },

  "replay in a task that holds a transaction is refused where it would wait for itself": async (given) => {
    const { partners } = fanOut(["a"]);
    const outbox = given.outbox([partners]);
    const ids = await given.fire(outbox, order());
    await outbox.transaction(async () => {
      const replay = replayEvents(outbox, ids);
      if (given.oneWriter) await assert.rejects(replay, /Cannot replay events.*wait for itself/);
      else assert.deepEqual(await replay, { reopened: 0, added: 0 });
    });
  },
};

export const anyEventCases: Cases = {
  "its targets choose the events: none for an event means no row": async (given) => {
    const ran: string[] = [];
    const hooks = receiver(anyEvent, "webhooks", (_, ctx) => ran.push(`${ctx.eventName} ${ctx.target}`), {
      targets: (_, ctx) => ctx.eventName === "orders.placed" ? ["a", "b"] : [],
    });
    const outbox = given.outbox([hooks], { events: [order().definition, StockReserved] });
    await given.fire(outbox, StockReserved({ orderId: 1 }), order());
    assert.deepEqual(await byTarget(given), ["a pending 0", "b pending 0"]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(ran, ["orders.placed a", "orders.placed b"]);
  },

  "without targets it is owed each event, and told which": async (given) => {
    const heard: unknown[] = [];
    const audit = receiver(anyEvent, "audit", (payload, ctx) => heard.push([ctx.eventName, payload]));
    const outbox = given.outbox([audit], { events: [order().definition, StockReserved] });
    await given.fire(outbox, order(1), StockReserved({ orderId: 2 }));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(heard, [["orders.placed", { orderId: 1 }], ["stock.reserved", { orderId: 2 }]]);
  },

  "it can be inline and on-commit too": async (given) => {
    const heard: string[] = [];
    const outbox = given.outbox([
      receiver(anyEvent, "inline", (_, ctx) => heard.push(`inline ${ctx.eventName}`), { mode: "inline" }),
      receiver(anyEvent, "after", (_, ctx) => heard.push(`after ${ctx.eventName}`), { mode: "on-commit" }),
    ], { events: [order().definition] });
    await given.fire(outbox, order());
    assert.deepEqual(heard, ["inline orders.placed", "after orders.placed"]);
  },
};

function hexOf(digest: unknown): string {
  return [...new Uint8Array(digest as ArrayBuffer)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
