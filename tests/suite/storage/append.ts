import assert from "node:assert/strict";
import type { NewDelivery, NewEvent } from "../../../src/storage/records.ts";
import { uuidv7 } from "../../../src/uuid.ts";
import type { Cases, Given } from "./given.ts";
import { aDebt, after, anEvent, range } from "./samples.ts";
import { takeTime } from "../../support/wait_for.ts";

function append(given: Given, events: NewEvent[], debts: NewDelivery[], by = given.storage) {
  return by.transaction((tx) => by.append(tx, events, debts, given.now));
}

const receivers = ["stock.reserve", "receipts.email"];

export const appendCases: Cases = {
  "stores every field of the event": async (given) => {
    const event = anEvent({
      version: 3,
      key: "order-1",
      topic: "orders",
      payload: '{"orderId":1}',
      occurredAt: after(given.now, -5000.001),
      actor: "user:7",
      actorLabel: "Ada",
      scope: '{"tenant":"t1"}',
      correlationId: uuidv7(),
      causationId: uuidv7(),
      trace: '{"traceparent":"00-1-2-01"}',
    });
    await append(given, [event], []);
    const { dedupeKey: _, suppressedReason: _s, retentionSeconds: _r, deleteWhen: _d, ...stored } = event;
    assert.deepEqual(await given.storage.findEvents({}), [stored]);
  },

  "stores why it was suppressed and when it may go": async (given) => {
    const kept = anEvent({ name: "a", suppressedReason: "import", retentionSeconds: 2 ** 31 - 1 });
    await append(given, [kept, anEvent({ name: "b", deleteWhen: "settled" })], []);
    const columns = "name, suppressed_reason, retention_seconds, delete_when";
    const rows = await given.database.query(`select ${columns} from ${given.database.table("events")} order by name`);
    assert.deepEqual(rows.map((row) => [row.suppressed_reason, Number(row.retention_seconds), row.delete_when]), [
      ["import", 2 ** 31 - 1, null],
      [null, 0, "settled"],
    ]);
  },

  "an event without a moment happened when it was written": async (given) => {
    await given.fire();
    assert.equal((await given.storage.findEvents({}))[0]?.occurredAt, given.now);
  },

  "a debt begins pending, due at once": async (given) => {
    const event = await given.fire({ maxAttempts: 7 });
    const { id, ...row } = await given.row();
    assert.match(id, /^[1-9]\d*$/);
    assert.deepEqual(row, {
      eventId: event.id,
      receiverKey: "stock.reserve",
      target: "",
      status: "pending",
      attempts: 0,
      maxAttempts: 7,
      lapses: 0,
      availableAt: given.now,
      dueAt: null,
      owedSince: given.now,
      claimedBy: null,
      claimedAt: null,
      leasedUntil: null,
      completedAt: null,
      lastError: null,
    });
  },

  "a scheduled debt is due at its moment and owed from now": async (given) => {
    const dueAt = given.later(3_600_000.001);
    await given.fire({ dueAt });
    const row = await given.row();
    assert.deepEqual([row.availableAt, row.dueAt, row.owedSince], [dueAt, dueAt, given.now]);
  },

  "a scheduled moment that has passed is due from now, where a claim still looks": async (given) => {
    const dueAt = given.later(-3_600_000);
    await given.fire({ dueAt });
    const row = await given.row();
    assert.deepEqual([row.availableAt, row.dueAt], [given.now, dueAt]);
  },

  "a debt that is due after a while is due that long after it was written": async (given) => {
    const waits = { "1.5": 1_500n, "3600000.001": 3_600_000_001n, "0": 0n };
    for (const [ms, micros] of Object.entries(waits)) {
      const event = await given.fire({ dueInMs: Number(ms) });
      const [row] = await given.storage.findDeliveries({ eventId: event.id }, given.now);
      const due = given.now + micros;
      assert.deepEqual([row!.availableAt, row!.dueAt, row!.owedSince], [due, due, given.now], ms);
    }
  },

  "a debt that is due after a while is not claimed before": async (given) => {
    await given.fire({ dueInMs: 1_000 });
    assert.deepEqual(await given.claim({ now: given.later(999.999) }), []);
    assert.equal((await given.claimOne({ now: given.later(1_000) })).dueAt, given.later(1_000));
  },

  "a while that is negative is due from now, where a claim still looks": async (given) => {
    await given.fire({ dueInMs: -1_000 });
    assert.equal((await given.row()).availableAt, given.now);
  },

  "each of a batch is due on its own": async (given) => {
    const events = [anEvent(), anEvent({ dedupeKey: "once" })];
    const dues = [{ dueInMs: 2_000 }, { dueAt: given.later(3_000) }, {}];
    const debts = events.flatMap((event) => dues.map((due, i) => aDebt(event, { receiverKey: `r${i}`, ...due })));
    await append(given, events, debts);
    const expected = [given.later(2_000), given.later(3_000), null];
    assert.deepEqual((await given.rows()).map((row) => row.dueAt), [...expected, ...expected]);
  },

  "without a moment a while begins by the database's clock": async (given) => {
    const event = anEvent();
    const debts = [aDebt(event, { dueInMs: 3_600_000 })];
    await given.storage.transaction((tx) => given.storage.append(tx, [event], debts));
    const { dueAt, availableAt, owedSince } = await given.row();
    assert.deepEqual([dueAt, availableAt], [owedSince + 3_600_000_000n, owedSince + 3_600_000_000n]);
    assert.ok(owedSince > given.later(-60_000) && owedSince < given.later(60_000), `${owedSince}`);
  },

  "each receiver has its own debt": async (given) => {
    await given.fire({ receivers });
    assert.deepEqual((await given.rows()).map((row) => row.receiverKey).sort(), [...receivers].sort());
  },

  "each target has its own debt": async (given) => {
    const event = anEvent();
    await append(given, [event], ["a", "b", ""].map((target) => aDebt(event, { target })));
    assert.deepEqual((await given.rows()).map((row) => row.target).sort(), ["", "a", "b"]);
  },

  "targets that differ after three thousand characters are two": async (given) => {
    const event = anEvent();
    const targets = ["a", "b"].map((end) => "x".repeat(3000) + end);
    await append(given, [event], targets.map((target) => aDebt(event, { target })));
    assert.deepEqual((await given.rows()).map((row) => row.target).sort(), targets);
  },

  "the same debt twice is refused": async (given) => {
    const event = anEvent();
    for (const target of ["", "a"]) {
      await assert.rejects(append(given, [event], [aDebt(event, { target }), aDebt(event, { target })]));
    }
    assert.deepEqual(await given.storage.findEvents({}), []);
  },

  "an event that nobody listens to is stored": async (given) => {
    const event = await given.fire({ receivers: [] });
    assert.deepEqual((await given.storage.findEvents({})).map(({ id }) => id), [event.id]);
    assert.deepEqual(await given.rows(), []);
  },

  "nothing to write writes nothing": async (given) => {
    const { duplicates } = await append(given, [], []);
    assert.equal(duplicates.size, 0);
  },

  "any number of events at once": async (given) => {
    const events = range(2_000).map((n) => anEvent({ payload: `{"n":${n}}`, dedupeKey: `key-${n}` }));
    const debts = events.flatMap((event) => receivers.map((receiverKey) => aDebt(event, { receiverKey })));
    const { duplicates } = await append(given, events, debts);
    assert.equal(duplicates.size, 0);
    assert.equal((await given.storage.findEvents({})).length, 2_000);
    assert.equal((await given.rows()).length, 4_000);
  },

  "deliveries are numbered in the order they were given": async (given) => {
    const events = await given.fireMany(30);
    assert.deepEqual((await given.rows()).map((row) => row.eventId), events.map(({ id }) => id));
  },

  "several times in one transaction": async (given) => {
    await given.storage.transaction(async (tx) => {
      for (const _ of range(3)) {
        const event = anEvent();
        await given.storage.append(tx, [event], [aDebt(event)], given.now);
      }
    });
    assert.equal((await given.rows()).length, 3);
  },

  "without a moment the database's clock decides": async (given) => {
    const event = anEvent();
    await given.storage.transaction((tx) => given.storage.append(tx, [event], [aDebt(event)]));
    const { availableAt } = await given.row();
    assert.ok(availableAt > given.later(-60_000) && availableAt < given.later(60_000), `${availableAt}`);
  },

  "a fire that is rolled back leaves nothing": async (given) => {
    const event = anEvent({ dedupeKey: "once" });
    const change = given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      throw new Error("undo");
    });
    await assert.rejects(change, /undo/);
    assert.deepEqual(await given.storage.findEvents({}), []);
    assert.deepEqual(await given.rows(), []);
    assert.equal((await append(given, [anEvent({ dedupeKey: "once" })], [])).duplicates.size, 0);
  },

  "nobody sees a fire before it commits": async (given) => {
    await given.storage.transaction(async (tx) => {
      const event = anEvent();
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      assert.deepEqual(await given.second.findEvents({}), []);
    });
  },

  "a key that was fired reports the event that is there": async (given) => {
    const first = await given.fire({ dedupeKey: "once" });
    const again = anEvent({ dedupeKey: "once" });
    const { duplicates } = await append(given, [again], [aDebt(again)]);
    assert.deepEqual([...duplicates], [[again.id, first.id]]);
  },

  "a duplicate writes neither event nor debt": async (given) => {
    const first = await given.fire({ dedupeKey: "once", payload: '{"n":1}' });
    const again = anEvent({ dedupeKey: "once", payload: '{"n":2}' });
    await append(given, [again], receivers.map((receiverKey) => aDebt(again, { receiverKey })));
    assert.deepEqual((await given.storage.findEvents({})).map(({ id, payload }) => [id, payload]), [
      [first.id, '{"n":1}'],
    ]);
    assert.deepEqual((await given.rows()).map((row) => row.eventId), [first.id]);
  },

  "the rest of a batch with a duplicate is written": async (given) => {
    await given.fire({ dedupeKey: "b" });
    const events = ["a", "b", "c"].map((dedupeKey) => anEvent({ dedupeKey }));
    const { duplicates } = await append(given, events, events.map((event) => aDebt(event)));
    assert.deepEqual([...duplicates.keys()], [events[1]!.id]);
    assert.equal((await given.rows()).length, 3);
  },

  "a duplicate within a batch names the first of it": async (given) => {
    const events = range(3).map((n) => anEvent({ dedupeKey: "once", payload: `{"n":${n}}` }));
    const { duplicates } = await append(given, events, events.map((event) => aDebt(event)));
    const [first, second, third] = events.map(({ id }) => id);
    assert.deepEqual(new Map(duplicates), new Map([[second, first], [third, first]]));
    assert.deepEqual((await given.rows()).map((row) => row.eventId), [first]);
  },

  "a duplicate of the same transaction is reported": async (given) => {
    const [first, again] = [anEvent({ dedupeKey: "once" }), anEvent({ dedupeKey: "once" })];
    const { duplicates } = await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [first], [aDebt(first)], given.now);
      return await given.storage.append(tx, [again], [aDebt(again)], given.now);
    });
    assert.deepEqual([...duplicates], [[again.id, first.id]]);
  },

  "the same key under another name is no duplicate": async (given) => {
    await given.fire({ name: "orders.placed", dedupeKey: "once" });
    const other = anEvent({ name: "orders.paid", dedupeKey: "once" });
    assert.equal((await append(given, [other], [aDebt(other)])).duplicates.size, 0);
    assert.equal((await given.rows()).length, 2);
  },

  "events without a key are never duplicates": async (given) => {
    const { duplicates } = await append(given, [anEvent(), anEvent()], []);
    assert.equal(duplicates.size, 0);
  },

  "a key that another transaction is writing waits for its end": async (given) => {
    for (const commits of [true, false]) {
      const [first, again] = range(2).map(() => anEvent({ name: `commits ${commits}`, dedupeKey: "once" }));
      const written = Promise.withResolvers<void>();
      const goOn = Promise.withResolvers<void>();
      const change = given.storage.transaction(async (tx) => {
        await given.storage.append(tx, [first!], [aDebt(first!)], given.now);
        written.resolve();
        await goOn.promise;
        if (!commits) throw new Error("undo");
      }).catch(() => {});
      await written.promise;
      const appended = append(given, [again!], [aDebt(again!)], given.second);
      // Long enough for the second to reach the database, and right if it does not.
      await takeTime(50);
      goOn.resolve();
      await change;
      const { duplicates } = await appended;
      assert.deepEqual([...duplicates], commits ? [[again!.id, first!.id]] : []);
      const stored = await given.storage.findDeliveries({ eventId: commits ? again!.id : first!.id });
      assert.deepEqual(stored, []);
    }
  },

  "two batches with the same keys in opposite order both end": async (given) => {
    for (const round of range(5)) {
      const keys = range(50).map((n) => `${round}-${n}`);
      const batches = [keys, keys.toReversed()].map((each) => each.map((dedupeKey) => anEvent({ dedupeKey })));
      const [a, b] = await Promise.all([
        append(given, batches[0]!, batches[0]!.map((event) => aDebt(event))),
        append(given, batches[1]!, batches[1]!.map((event) => aDebt(event)), given.second),
      ]);
      assert.equal(a.duplicates.size + b.duplicates.size, 50);
    }
    assert.equal((await given.rows()).length, 250);
  },
};
