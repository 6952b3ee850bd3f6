import assert from "node:assert/strict";
import { z } from "zod";
import {
  anyEvent,
  deliverPending,
  drainOutbox,
  event,
  fire,
  type Outbox,
  outboxHealth,
  type Receiver,
  receiver,
  replayEvents,
} from "../../../mod.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

/** A fan-out of orders to these targets. */
const partners = (...targets: string[]) => onOrder("partners", () => {}, { targets: () => targets });

/** `"receiver target status attempts"` of every delivery, sorted. */
async function debts(given: Given): Promise<string[]> {
  const rows = await given.rows();
  return rows.map((row) => `${row.receiverKey} ${row.target} ${row.status} ${row.attempts}`.replace("  ", " ")).sort();
}

/** An outbox whose wakes are counted. */
function counting(given: Given, receivers: readonly Receiver[]): { outbox: Outbox; wakes: () => number } {
  let wakes = 0;
  const storage = given.changed({ wake: () => Promise.resolve(void wakes++) });
  const outbox = given.outbox(receivers, { storage, settings: { notifyCoalesce: { seconds: 0 } } });
  return { outbox, wakes: () => wakes };
}

export const replayCases: Cases = {
  "what is settled is owed again, what is missing is added, each counted apart": async (given) => {
    const ran: string[] = [];
    const hear = (key: string) => onOrder(key, () => ran.push(key));
    const before = given.outbox([hear("stock"), hear("mail")]);
    const ids = await given.fire(before, order());
    await deliverPending(before);
    ran.splice(0);
    const outbox = given.outbox([hear("stock"), hear("mail"), hear("loyalty")]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 2, added: 1 });
    assert.deepEqual(await debts(given), ["loyalty pending 0", "mail pending 0", "stock pending 0"]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
    assert.deepEqual(ran.sort(), ["loyalty", "mail", "stock"]);
  },

  "a receiver that nobody replays to hears of nothing that was fired before it": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order());
    const outbox = given.outbox([onOrder("stock"), onOrder("loyalty")]);
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await debts(given), ["stock succeeded 1"]);
  },

  "every end can be reopened: dead, orphaned, succeeded": async (given) => {
    const ids = await given.fire(
      given.outbox([onOrder("good"), failing("bad", { maxAttempts: 1 }), onOrder("gone")]),
      order(),
    );
    await drainOutbox(given.outbox([onOrder("good"), failing("bad", { maxAttempts: 1 })]));
    assert.deepEqual(await debts(given), ["bad dead 1", "gone orphaned 0", "good succeeded 1"]);
    const outbox = given.outbox([onOrder("good"), onOrder("bad"), onOrder("gone")]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 3, added: 0 });
    assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
  },

  "pitfall 115: a reopened delivery starts afresh: no attempts, no lapses, no error, owed since now": async (given) => {
    const outbox = given.outbox([failing("mail", { maxAttempts: 2 })]);
    const ids = await given.fire(outbox, order());
    await given.steal("mail"); // the thief dies: one lapse
    await deliverPending(outbox, { now: later({ hours: 3 }) });
    await deliverPending(outbox, { now: later({ hours: 6 }) });
    const dead = await given.row();
    assert.deepEqual([dead.status, dead.attempts, dead.lapses], ["dead", 2, 1]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 1, added: 0 });
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lapses, row.lastError, row.completedAt], [
      "pending",
      0,
      0,
      null,
      null,
    ]);
    assert.deepEqual([row.leasedUntil, row.maxAttempts], [null, 2]);
    assert.ok(row.owedSince > dead.owedSince, `${row.owedSince} ${dead.owedSince}`);
    const calm = given.outbox([onOrder("mail")]);
    assert.deepEqual(await deliverPending(calm, { now: later({ hours: 6 }) }), { succeeded: 1 });
    assert.equal((await given.row()).lastError, null);
  },

  "the budget of a replayed delivery is the one that its receiver declares today": async (given) => {
    const before = given.outbox([failing("mail", { maxAttempts: 1 })]);
    const ids = await given.fire(before, order());
    await deliverPending(before);
    const outbox = given.outbox([failing("mail", { maxAttempts: 3 })]);
    await replayEvents(outbox, ids);
    assert.deepEqual(await drainOutbox(outbox), { failed: 2, dead: 1 });
  },

  "the receiver sees attempt one again, and a due moment that is the replay's": async (given) => {
    const told: unknown[] = [];
    const outbox = given.outbox([onOrder("stock", (_, ctx) => told.push([ctx.attempt, ctx.dueAt]))]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    await replayEvents(outbox, ids);
    const owedSince = new Date(Number((await given.row()).owedSince / 1000n));
    await deliverPending(outbox);
    assert.deepEqual(told[1], [1, owedSince]);
  },

  "pitfall 107: targets are asked for again: {a, b} and then {b, c} reopens one, adds one and leaves a": async (
    given,
  ) => {
    const before = given.outbox([partners("a", "b")]);
    const ids = await given.fire(before, order());
    await deliverPending(before);
    const left = (await given.rows()).find((row) => row.target === "a");
    const outbox = given.outbox([partners("b", "c")]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 1, added: 1 });
    assert.deepEqual(await debts(given), ["partners a succeeded 1", "partners b pending 0", "partners c pending 0"]);
    assert.deepEqual((await given.rows()).find((row) => row.target === "a"), left);
  },

  "pitfall 109: a target of ten thousand characters is found again": async (given) => {
    const long = upTo(2500).map((n) => String(n).padStart(4, "0")).join("");
    const outbox = given.outbox([partners(long, `${long.slice(0, -1)}x`)]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 2, added: 0 });
  },

  "the targets are told of the stored event, and see the database as it is now": async (given) => {
    const told: unknown[] = [];
    const outbox = given.outbox([
      onOrder("partners", () => {}, {
        targets: async (payload, ctx) => {
          const { client } = await ctx.transaction();
          const rows = await given.database.execute(client, `select note from ${given.database.table("notes")}`);
          told.push([payload, ctx.eventId, ctx.attempt, ctx.target]);
          return rows.map((row) => String(row.note));
        },
      }),
    ]);
    const ids = await given.fire(outbox, order(7));
    await outbox.transaction((tx) => given.note(tx.client, "new"));
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 0, added: 1 });
    assert.deepEqual(told, Array(2).fill([{ orderId: 7 }, ids[0], 1, ""]));
    assert.deepEqual(await debts(given), ["partners new pending 0"]);
  },

  "an empty list of targets leaves everything as it is": async (given) => {
    const before = given.outbox([partners("a")]);
    const ids = await given.fire(before, order());
    await deliverPending(before);
    assert.deepEqual(await replayEvents(given.outbox([partners()]), ids), { reopened: 0, added: 0 });
    assert.deepEqual(await debts(given), ["partners a succeeded 1"]);
  },

  "the row that a receiver had before it was given targets is left as it is": async (given) => {
    const before = given.outbox([onOrder("partners")]);
    const ids = await given.fire(before, order());
    await deliverPending(before);
    assert.deepEqual(await replayEvents(given.outbox([partners("a")]), ids), { reopened: 0, added: 1 });
    assert.deepEqual(await debts(given), ["partners a pending 0", "partners succeeded 1"]);
  },

  "pitfall 110: what is owed is left as it is, waiting, failed, or in a worker's hands": async (given) => {
    const outbox = given.outbox([
      onOrder("waiting", () => {}, { due: { hours: 1 } }),
      failing("failed"),
      onOrder("held"),
    ]);
    const ids = await given.fire(outbox, order());
    const receivers = ["failed", "held"].map((key) => ({ key, leaseMs: 3_600_000 }));
    await deliverPending(given.outbox([failing("failed")]), { limit: 1 });
    const [claimed] = await given.storage.claim({ worker: "w1", receivers, limit: 1 });
    const before = await given.rows();
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 0, added: 0 });
    assert.deepEqual(await given.rows(), before);
    assert.deepEqual(await given.storage.settle([{ fence: claimed!.fence, settlement: { kind: "succeeded" } }]), [
      "applied",
    ]);
  },

  "pitfall 110: a claim that comes between the look and the write keeps its owner": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    let owner: string | null | undefined;
    const storage = given.changed({
      reopen: async (...reopening) => {
        // Somebody else replays the same event first, and a worker takes the row.
        await given.storage.reopen(...reopening);
        await given.steal("stock");
        owner = (await given.row()).claimedBy;
        return await given.storage.reopen(...reopening);
      },
    });
    assert.deepEqual(await replayEvents(given.outbox([onOrder("stock")], { storage }), ids), { reopened: 0, added: 0 });
    assert.equal(owner, "thief");
    assert.equal((await given.row()).claimedBy, "thief");
  },

  "two replays of one event at once reopen each delivery once": async (given) => {
    const outbox = given.outbox([onOrder("stock"), onOrder("mail")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    const more = given.outbox([onOrder("stock"), onOrder("mail"), onOrder("loyalty")], {
      ...(given.database.second && { storage: given.database.second }),
    });
    const also = given.outbox([onOrder("stock"), onOrder("mail"), onOrder("loyalty")]);
    const done = await Promise.all([replayEvents(also, ids), replayEvents(more, ids)]);
    const sum = (what: "reopened" | "added") => done.reduce((total, one) => total + one[what], 0);
    assert.deepEqual([sum("reopened"), sum("added")], [2, 1]);
    assert.deepEqual(await debts(given), ["loyalty pending 0", "mail pending 0", "stock pending 0"]);
  },

  "receivers narrow it down": async (given) => {
    const outbox = given.outbox([onOrder("stock"), onOrder("mail"), partners("a")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await replayEvents(outbox, ids, { receivers: ["mail"] }), { reopened: 1, added: 0 });
    assert.deepEqual(await replayEvents(outbox, ids, { receivers: [] }), { reopened: 0, added: 0 });
    assert.deepEqual(await debts(given), ["mail pending 0", "partners a succeeded 1", "stock succeeded 1"]);
  },

  "a receiver that is not listed, or has no rows, is refused by name": async (given) => {
    const outbox = given.outbox([onOrder("stock"), onOrder("cache", () => {}, { mode: "on-commit" })]);
    const ids = await given.fire(outbox, order());
    for (const key of ["stok", "cache"]) {
      await assert.rejects(replayEvents(outbox, ids, { receivers: [key] }), (error: Error) => {
        assert.ok(error instanceof RangeError);
        assert.match(error.message, new RegExp(`"${key}"`));
        return true;
      });
    }
    for (const options of [{ receivers: "stock" }, { receiver: ["stock"] }]) {
      await assert.rejects(replayEvents(outbox, ids, options as never), TypeError);
    }
  },

  "receivers of every event are replayed to, inline and on-commit ones are not": async (given) => {
    const ran: string[] = [];
    const ids = await given.fire(given.outbox([], { events: [OrderPlaced] }), order());
    const outbox = given.outbox([
      receiver(anyEvent, "audit", () => ran.push("audit")),
      onOrder("inline", () => ran.push("inline"), { mode: "inline" }),
      onOrder("cache", () => ran.push("cache"), { mode: "on-commit" }),
      receiver(StockReserved, "other", () => ran.push("other")),
    ]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 0, added: 1 });
    await deliverPending(outbox);
    assert.deepEqual(ran, ["audit"]);
  },

  "an event that nobody declares here, one that is gone and an empty list are passed over": async (given) => {
    const Unknown = event<null>("unknown.happened");
    const [unknown] = await given.fire(given.outbox([], { events: [Unknown] }), Unknown(null));
    const outbox = given.outbox([onOrder("stock"), receiver(anyEvent, "audit", () => {})]);
    const gone = "01890a5d-ac96-774b-bcce-b302099a8057";
    const [known] = await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(await replayEvents(outbox, []), { reopened: 0, added: 0 });
    assert.deepEqual(await replayEvents(outbox, [unknown!, gone]), { reopened: 0, added: 0 });
    assert.deepEqual(await replayEvents(outbox, [unknown!, known!, gone, known!]), { reopened: 2, added: 0 });
  },

  "what is no id of an event is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const wrong of ["41", "nonsense", 7, null]) {
      await assert.rejects(replayEvents(outbox, [wrong as never]), TypeError);
    }
    await assert.rejects(replayEvents(outbox, "01890a5d-ac96-774b-bcce-b302099a8057" as never), TypeError);
  },

  "a payload that cannot be decoded matters to a fan-out alone, and then nothing is changed": async (given) => {
    const ids = await given.fire(given.outbox([onOrder("stock")]), order());
    const Stricter = event("orders.placed", { schema: z.object({ orderId: z.string() }) });
    const plain = given.outbox([receiver(Stricter, "stock", () => {}), receiver(Stricter, "mail", () => {})]);
    assert.deepEqual(await replayEvents(plain, ids), { reopened: 0, added: 1 });
    const before = await given.rows();
    const fanning = given.outbox([
      receiver(Stricter, "loyalty", () => {}),
      receiver(Stricter, "partners", () => {}, { targets: () => ["a"] }),
    ]);
    const error = await rejection(replayEvents(fanning, ids));
    assert.equal(error.name, "PayloadUndecodable");
    assert.deepEqual(await given.rows(), before);
  },

  "what targets throws is the caller's, and nothing is changed": async (given) => {
    const thrown = new Error("no directory");
    const ids = await given.fire(given.outbox([onOrder("stock")]), order(1), order(2));
    const outbox = given.outbox([
      onOrder("loyalty"),
      onOrder("partners", () => {}, {
        targets: ({ orderId }) => {
          if (orderId === 2) throw thrown;
          return ["a"];
        },
      }),
    ]);
    assert.equal(await rejection(replayEvents(outbox, ids)), thrown);
    assert.deepEqual(await debts(given), ["stock pending 0", "stock pending 0"]);
  },

  "what targets fires is committed with its question, and followed up": async (given) => {
    const ran: string[] = [];
    const ids = await given.fire(given.outbox([], { events: [OrderPlaced] }), order());
    const outbox = given.outbox([
      onOrder("partners", () => {}, {
        targets: async (_, ctx) => {
          await fire(ctx, StockReserved({ orderId: 1 }));
          return ["a"];
        },
      }),
      receiver(StockReserved, "after", () => ran.push("after"), { mode: "on-commit" }),
    ]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 0, added: 1 });
    assert.deepEqual(ran, ["after"]);
    assert.equal((await given.events()).at(-1)?.causationId, ids[0]);
  },

  "pitfall 117: the relays are woken if anything is owed that was not, and only then": async (given) => {
    const { outbox, wakes } = counting(given, [onOrder("stock")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    const before = wakes();
    await replayEvents(outbox, ids);
    assert.equal(wakes(), before + 1);
    await replayEvents(outbox, ids);
    await replayEvents(outbox, []);
    assert.equal(wakes(), before + 1);
  },

  "pitfall 119: a receiver's last success is not forgotten": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    const before = (await given.row()).completedAt;
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 1, added: 0 });
    const { table, query } = given.database;
    const rows = await query(`select receiver_key, last_succeeded_at from ${table("receiver_successes")}`);
    assert.deepEqual(rows.map((row) => row.receiver_key), ["stock"]);
    const { last_succeeded_at: at } = rows[0]!;
    const kept = at instanceof Date ? BigInt(at.getTime()) : BigInt(at as number) / 1000n;
    assert.equal(kept, before! / 1000n);
  },

  "what was reopened is owed from the replay on, not from the event": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    const replayedAt = Date.now();
    await replayEvents(outbox, ids);
    const { owed, oldestOwedSince } = await outboxHealth(outbox);
    assert.equal(owed, 1);
    assert.ok(oldestOwedSince!.getTime() >= replayedAt - 5000);
  },

  "pitfall 114: thousands of events are replayed in one call": async (given) => {
    const outbox = given.outbox([], { events: [OrderPlaced] });
    const ids: string[] = [];
    for (const _ of upTo(4)) ids.push(...await given.fire(outbox, ...upTo(1000).map(order)));
    const missing = upTo(36_000).map((n) => `01890a5d-ac96-774b-bcce-${String(n).padStart(12, "0")}`);
    const listening = given.outbox([onOrder("stock")]);
    assert.deepEqual(await replayEvents(listening, [...ids, ...missing]), { reopened: 0, added: 4000 });
  },

  "a replayed delivery is told of the version that its row was written under, upgraded": async (given) => {
    const ids = await given.fire(given.outbox([], { events: [OrderPlaced] }), order(7));
    const told: unknown[] = [];
    const Second = event<{ id: number }>("orders.placed", {
      version: 2,
      upgrade: (payload) => ({ id: (payload as { orderId: number }).orderId }),
    });
    const outbox = given.outbox([
      receiver(Second, "partners", (order, ctx) => told.push([order, ctx.version, ctx.target]), {
        targets: ({ id }) => [`partner-${id}`],
      }),
    ]);
    assert.deepEqual(await replayEvents(outbox, ids), { reopened: 0, added: 1 });
    await deliverPending(outbox);
    assert.deepEqual(told, [[{ id: 7 }, 1, "partner-7"]]);
  },

  "a signal that has aborted changes nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const ids = await given.fire(outbox, order());
    await deliverPending(outbox);
    await assert.rejects(replayEvents(outbox, ids, { signal: AbortSignal.abort() }), { name: "AbortError" });
    assert.deepEqual(await debts(given), ["stock succeeded 1"]);
  },
};
