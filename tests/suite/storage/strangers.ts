import assert from "node:assert/strict";
import type { Cases } from "./given.ts";
import { aDebt, anEvent, range, retryIn, succeeded } from "./samples.ts";

const graceMs = 900_000;

export const strangerCases: Cases = {
  "a key that nobody lists is a stranger when its row has been due for the grace": async (given) => {
    await given.fire();
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs - 1)), []);
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs)), ["stock.reserve"]);
  },

  "a known key is no stranger": async (given) => {
    await given.fire({ receivers: ["a", "b"] });
    assert.deepEqual(await given.storage.strangers(["a", "c"], graceMs, given.later(graceMs)), ["b"]);
  },

  "a key that somebody has listed within the grace is no stranger": async (given) => {
    await given.fire();
    const announced = given.later(graceMs);
    await given.storage.announce({ app: "shop", release: "1", receivers: ["stock.reserve"], now: announced });
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs + 1)), []);
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(2 * graceMs - 1)), []);
  },

  "a key that was listed longer ago than the grace is a stranger": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: ["stock.reserve"], now: given.now });
    await given.fire({ at: given.later(1) });
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs + 2)), ["stock.reserve"]);
  },

  "the latest of several announcements counts": async (given) => {
    await given.fire();
    for (const [i, app] of ["old", "new", "other"].entries()) {
      const receivers = app === "other" ? ["else"] : ["stock.reserve"];
      await given.storage.announce({ app, release: "1", receivers, now: given.later(i * graceMs) });
    }
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(2 * graceMs - 1)), []);
  },

  "no grace at all": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: ["stock.reserve"], now: given.later(-1) });
    await given.fire();
    assert.deepEqual(await given.storage.strangers([], 0, given.now), ["stock.reserve"]);
  },

  "the grace counts from when the row is due": async (given) => {
    await given.fire({ dueAt: given.later(graceMs) });
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs + 1)), []);
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(2 * graceMs)), ["stock.reserve"]);
  },

  "one old row among younger ones makes a stranger": async (given) => {
    await given.fire({ at: given.later(1_000) });
    await given.fire({ at: given.later(-1_000) });
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs)), ["stock.reserve"]);
  },

  "settled rows make no stranger": async (given) => {
    await given.settled(await given.held(), succeeded);
    await given.settled(await given.held(), { kind: "orphaned", error: "" });
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs)), []);
  },

  "a failed row makes one": async (given) => {
    await given.settled(await given.held(), retryIn(0));
    assert.deepEqual(await given.storage.strangers([], graceMs, given.later(graceMs)), ["stock.reserve"]);
  },

  "each is named once": async (given) => {
    const keys = range(30).map((n) => `receiver-${n}`);
    const events = range(20).map(() => anEvent());
    const debts = events.flatMap((event) => keys.map((receiverKey) => aDebt(event, { receiverKey })));
    await given.storage.transaction((tx) => given.storage.append(tx, events, debts, given.now));
    const found = await given.storage.strangers(keys.slice(0, 10), graceMs, given.later(graceMs));
    assert.deepEqual(found.toSorted(), keys.slice(10).toSorted());
  },

  "an empty database has none": async (given) => {
    assert.deepEqual(await given.storage.strangers(["a"], graceMs, given.now), []);
  },

  "without a moment the database's clock decides": async (given) => {
    await given.fire({ receivers: ["old"], at: given.later(-2 * graceMs) });
    await given.fire({ receivers: ["new"], at: given.now });
    assert.deepEqual(await given.storage.strangers([], graceMs), ["old"]);
  },
};
