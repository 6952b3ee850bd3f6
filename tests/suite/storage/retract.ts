import assert from "node:assert/strict";
import type { Cases } from "./given.ts";
import { aDebt, anEvent } from "./samples.ts";

export const retractCases: Cases = {
  "takes back an event and its debts": async (given) => {
    const [gone, kept] = [anEvent({ name: "gone" }), anEvent({ name: "kept" })];
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [gone, kept], [aDebt(gone), aDebt(kept)], given.now);
      await given.storage.retract(tx, [gone.id]);
    });
    assert.deepEqual((await given.storage.findEvents({})).map(({ name }) => name), ["kept"]);
    assert.deepEqual((await given.rows()).map((row) => row.eventId), [kept.id]);
  },

  "takes back several": async (given) => {
    const events = [anEvent(), anEvent()];
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, events, events.map((event) => aDebt(event)), given.now);
      await given.storage.retract(tx, events.map(({ id }) => id));
    });
    assert.equal(await given.count("events"), 0);
    assert.equal(await given.count("deliveries"), 0);
  },

  "frees the dedupe key": async (given) => {
    const [first, again] = [anEvent({ dedupeKey: "once" }), anEvent({ dedupeKey: "once" })];
    const { duplicates } = await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [first], [], given.now);
      await given.storage.retract(tx, [first.id]);
      return await given.storage.append(tx, [again], [], given.now);
    });
    assert.equal(duplicates.size, 0);
  },

  "an id that is not there is no error": async (given) => {
    await given.storage.transaction((tx) => given.storage.retract(tx, [anEvent().id]));
    await given.storage.transaction((tx) => given.storage.retract(tx, []));
  },

  "a retraction that is rolled back takes nothing back": async (given) => {
    const event = anEvent();
    await given.storage.transaction(async (tx) => {
      await given.storage.append(tx, [event], [aDebt(event)], given.now);
      await tx.savepoint(async (inner) => {
        await given.storage.retract(inner, [event.id]);
        throw new Error("undo");
      }).catch(() => {});
    });
    assert.equal((await given.row()).eventId, event.id);
  },
};
