import assert from "node:assert/strict";
import { anyEvent, event, fire, fireAll, receiver } from "../../../mod.ts";
import { type Cases, rejection, upTo } from "./given.ts";
import { onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

export const firingCases: Cases = {
  "one event writes one row for each durable receiver": async (given) => {
    const outbox = given.outbox([
      onOrder("stock"),
      onOrder("mail"),
      onOrder("check", () => {}, { mode: "inline" }),
      onOrder("cache", () => {}, { mode: "on-commit" }),
      receiver(StockReserved, "other", () => {}),
    ]);
    await outbox.transaction((tx) => fire(tx, order()));
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(await given.outcomes(), ["stock pending 0", "mail pending 0"]);
  },

  "an event that nobody listens to is recorded without a row": async (given) => {
    await given.fire(given.outbox([], { events: [OrderPlaced] }), order());
    assert.equal((await given.events()).length, 1);
    assert.deepEqual(await given.rows(), []);
  },

  "the event's row holds the fact": async (given) => {
    const Moved = event<{ sku: string; to: string | null }>("stock.moved", {
      version: 3,
      topic: "stock",
      key: ({ sku }) => `sku-${sku}`,
    });
    const outbox = given.outbox([], { events: [Moved] });
    const [id] = await given.fire(outbox, Moved({ sku: "a'\"ü", to: null }));
    const [{ payload, occurredAt, ...row }] = (await given.events()) as [Awaited<ReturnType<typeof given.events>>[0]];
    assert.deepEqual(row, {
      id,
      name: "stock.moved",
      version: 3,
      key: "sku-a'\"ü",
      topic: "stock",
      actor: null,
      actorLabel: null,
      scope: null,
      correlationId: null,
      causationId: null,
      trace: null,
    });
    assert.deepEqual(JSON.parse(payload), { sku: "a'\"ü", to: null });
    assert.ok(Math.abs(Number(occurredAt / 1000n) - Date.now()) < 60_000);
  },

  "the id is a UUID of version 7, and ids rise": async (given) => {
    const ids = await given.fire(given.outbox([onOrder("stock")]), ...upTo(50).map(order));
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([...ids].sort(), ids);
  },

  "the event is one with the change: both or none": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      await given.note(tx.client, "kept");
      await fire(tx, order());
    });
    const thrown = new Error("mine");
    const error = await rejection(outbox.transaction(async (tx) => {
      await given.note(tx.client, "undone");
      await fire(tx, order(2));
      throw thrown;
    }));
    assert.equal(error, thrown);
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload)), [{ orderId: 1 }]);
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "what is rolled back runs nothing and wakes nobody": async (given) => {
    const ran: string[] = [];
    let wakes = 0;
    const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
    const outbox = given.outbox([
      onOrder("stock", () => ran.push("stock"), { eager: true }),
      onOrder("cache", () => ran.push("cache"), { mode: "on-commit" }),
    ], { storage });
    await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order());
      throw new Error("rolled back");
    }));
    assert.deepEqual([ran, wakes], [[], 0]);
    await given.nothing();
  },

  "transaction resolves to what its work gives, and rejects with what it throws": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    assert.deepEqual(await outbox.transaction(() => [1, undefined]), [1, undefined]);
    assert.equal(await rejection(outbox.transaction(() => Promise.reject("text"))) as unknown, "text");
  },

  "fireAll fires any number, and both events and rows keep their order": async (given) => {
    const outbox = given.outbox([onOrder("stock"), receiver(StockReserved, "mail", () => {})]);
    const fired = upTo(600).map((n) => n % 2 === 0 ? order(n) : StockReserved({ orderId: n }));
    const ids = await outbox.transaction((tx) => fireAll(tx, fired));
    const events = await given.events();
    assert.deepEqual(events.map(({ id }) => id), ids);
    assert.deepEqual(events.map(({ payload }) => JSON.parse(payload).orderId), upTo(600));
    assert.deepEqual((await given.rows()).map((row) => row.eventId), ids);
  },

  "fireAll of none writes nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    assert.deepEqual(await outbox.transaction((tx) => fireAll(tx, [])), []);
    await given.nothing();
  },

  "fireAll with one that is refused writes none": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      await assert.rejects(fireAll(tx, [order(), OrderPlaced({ orderId: NaN })]), { name: "PayloadRefused" });
      await given.note(tx.client, "usable");
    });
    assert.deepEqual(await given.notes(), ["usable"]);
    assert.deepEqual(await given.events(), []);
  },

  "pitfall 7: an event that is not declared is refused before any insert": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      await assert.rejects(fire(tx, StockReserved({ orderId: 1 })), (error: Error) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, /"stock\.reserved"/);
        return true;
      });
      await given.note(tx.client, "usable");
    });
    assert.deepEqual(await given.events(), []);
    assert.deepEqual(await given.notes(), ["usable"]);
  },

  "another declaration under a declared name is refused": async (given) => {
    const again = event<{ orderId: number }>(OrderPlaced.name);
    const outbox = given.outbox([onOrder("stock")]);
    await assert.rejects(outbox.transaction((tx) => fire(tx, again({ orderId: 1 }))), TypeError);
    await given.nothing();
  },

  "what is no event, and where nothing can be fired, is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const wrong of [undefined, null, {}, OrderPlaced, "orders.placed"]) {
      await assert.rejects(outbox.transaction((tx) => fire(tx, wrong as never)), /Cannot fire/);
    }
    for (const wrong of [undefined, null, {}, given.storage]) {
      await assert.rejects(fire(wrong as never, order()), /the first argument must be/);
    }
    await given.nothing();
  },

  "an option that does not exist is refused, and so is a word that onDuplicate does not know": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const options = [{ dedupKey: "typo" }, { dedupeKey: "a", onDuplicate: "ingore" }, null, "a"];
    for (const wrong of options) {
      await assert.rejects(outbox.transaction((tx) => fire(tx, order(), wrong as never)), TypeError);
    }
    await given.nothing();
  },

  "pitfall 35: a receiver of every event is owed one that is listed after it": async (given) => {
    const heard: string[] = [];
    const audit = receiver(anyEvent, "audit", (_, ctx) => heard.push(ctx.eventName));
    const outbox = given.outbox([audit, onOrder("stock")], { events: [StockReserved] });
    await given.fire(outbox, order(), StockReserved({ orderId: 1 }));
    assert.deepEqual(await given.outcomes(), ["audit pending 0", "stock pending 0", "audit pending 0"]);
  },

  "occurredAt is stored to the millisecond, from a Date and from a Temporal.Instant": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const at = Date.UTC(1999, 11, 31, 23, 59, 59, 123);
    for (const occurredAt of [new Date(at), { epochMilliseconds: at }]) {
      await outbox.transaction((tx) => fire(tx, order(), { occurredAt }));
    }
    assert.deepEqual((await given.events()).map((row) => row.occurredAt), [BigInt(at) * 1000n, BigInt(at) * 1000n]);
  },

  "an occurredAt that is none is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const occurredAt of [new Date(NaN), 1700000000000, "2020-01-01", null]) {
      await assert.rejects(
        outbox.transaction((tx) => fire(tx, order(), { occurredAt: occurredAt as never })),
        /occurredAt/,
      );
    }
    await given.nothing();
  },

  "the retention is stored with the event": async (given) => {
    const kept = [{ days: 30 }, "succeeded", "settled", undefined] as const;
    const declared = kept.map((retention, i) => event<null>(`kept.${i}`, retention ? { retention } : {}));
    await given.fire(given.outbox([], { events: declared }), ...declared.map((one) => one(null)));
    const rows = await given.database.query(
      `select retention_seconds, delete_when from ${given.database.table("events")} order by name`,
    );
    assert.deepEqual(
      rows.map((row) => [row.retention_seconds === null ? null : Number(row.retention_seconds), row.delete_when]),
      [[2_592_000, null], [null, "succeeded"], [null, "settled"], [null, null]],
    );
  },

  "a key that could not be stored refuses the fire": async (given) => {
    for (const key of ["", " ", 7, undefined, "a\u0000b", "k".repeat(256)]) {
      const Keyed = event<{ orderId: number }>("orders.keyed", { key: () => key as string });
      const outbox = given.outbox([], { events: [Keyed] });
      await assert.rejects(outbox.transaction((tx) => fire(tx, Keyed({ orderId: 1 }))), TypeError);
    }
    await given.nothing();
  },

  "what the key function throws refuses the fire": async (given) => {
    const thrown = new Error("no key");
    const Keyed = event<{ orderId: number }>("orders.keyed", {
      key: () => {
        throw thrown;
      },
    });
    const outbox = given.outbox([], { events: [Keyed] });
    assert.equal(await rejection(outbox.transaction((tx) => fire(tx, Keyed({ orderId: 1 })))), thrown);
    await given.nothing();
  },

  "the budget is that of the receiver, or else of the settings": async (given) => {
    const outbox = given.outbox([onOrder("own", () => {}, { maxAttempts: 9 }), onOrder("default")], {
      settings: { maxAttempts: 3 },
    });
    await given.fire(outbox, order());
    assert.deepEqual((await given.rows()).map((row) => [row.receiverKey, row.maxAttempts]), [["own", 9], [
      "default",
      3,
    ]]);
  },

  "pitfall 6: the wake comes when the rows can be seen, and only if there are any": async (given) => {
    const seen: Promise<number>[] = [];
    const storage = given.changed({ wake: () => Promise.resolve(void seen.push(given.rows().then((r) => r.length))) });
    const outbox = given.outbox([onOrder("stock")], { events: [StockReserved], storage });
    await given.fire(outbox, StockReserved({ orderId: 1 }));
    assert.equal(seen.length, 0);
    await given.fire(outbox, order());
    assert.deepEqual(await Promise.all(seen), [1]);
  },

  "many events in one transaction wake once": async (given) => {
    let wakes = 0;
    const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
    const outbox = given.outbox([onOrder("stock")], { storage });
    await outbox.transaction(async (tx) => {
      for (const n of upTo(20)) await fire(tx, order(n));
    });
    assert.equal(wakes, 1);
  },

  "with the setting wake: poll nobody is woken": async (given) => {
    let wakes = 0;
    const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
    await given.fire(given.outbox([onOrder("stock")], { storage, settings: { wake: "poll" } }), order());
    assert.equal(wakes, 0);
  },

  "a wake that fails, or never ends, disturbs nobody": async (given) => {
    const wakes = [() => Promise.reject(new Error("no wake")), () => new Promise<void>(() => {})];
    for (const wake of wakes) {
      await given.fire(given.outbox([onOrder("stock")], { storage: given.changed({ wake }) }), order());
    }
    assert.equal((await given.events()).length, 2);
  },
};
