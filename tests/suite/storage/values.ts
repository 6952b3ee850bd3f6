import assert from "node:assert/strict";
import { uuidv7 } from "../../../src/uuid.ts";
import { type Cases, type Given, idsOf } from "./given.ts";
import { aDebt, after, anEvent, dead, hostileTexts, randomText, released, retryIn, succeeded } from "./samples.ts";

/** One case for each hostile text. */
function forEachText(what: string, run: (given: Given, text: string) => Promise<void>): Cases {
  return Object.fromEntries(
    Object.entries(hostileTexts).map(([name, text]) => [`${what}: ${name}`, (given: Given) => run(given, text)]),
  );
}

export const valueCases: Cases = {
  "ids beyond 2^53 survive a life": async (given) => {
    const id = 2n ** 62n + 1n;
    try {
      await given.database.nextDeliveryId(id);
      await given.fireMany(3);
      const claimed = await given.claim();
      assert.deepEqual(idsOf(claimed), [`${id}`, `${id + 1n}`, `${id + 2n}`]);
      const renewals = claimed.map(({ fence }) => ({ fence, leaseMs: 60_000 }));
      assert.deepEqual(await given.storage.renew(renewals, given.now), new Set(idsOf(claimed)));
      await given.settled(claimed[0]!, retryIn(0));
      await given.settled(claimed[1]!, dead());
      const opened = await given.acknowledge(claimed[2]!);
      assert.equal(await opened.finish(succeeded), "applied");
      assert.deepEqual((await given.rows()).map((row) => row.id), idsOf(claimed));
      const receivers = [{ key: "stock.reserve", leaseMs: 60_000, from: { availableAt: 0n, id: `${id}` } }];
      const request = { worker: "worker-a", receivers, now: given.now };
      assert.deepEqual(idsOf(await given.storage.claim({ ...request, limit: 5 })), [`${id}`]);
      assert.equal(await given.storage.releaseUnknown("worker-a", [`${id + 1n}`]), 1);
      const only = { deliveryIds: [`${id}`] };
      assert.deepEqual(idsOf(await given.storage.claimOnly({ ...request, only })), [`${id}`]);
      assert.equal((await given.row(`${id + 2n}`)).status, "succeeded");
      assert.equal(await given.settle(claimed[2]!, succeeded), "already");
      const reopening = { eventId: claimed[2]!.event.id, deliveries: [aDebt(claimed[2]!.event)] };
      assert.deepEqual(await given.storage.reopen([reopening], given.now), { reopened: 1, added: 0 });
      const [again] = await given.storage.claimOnly({ ...request, only: { deliveryIds: [`${id + 2n}`] } });
      const taken = await given.storage.take({ ...request, fence: again!.fence, leaseMs: 60_000 });
      assert.equal(taken?.fence.id, `${id + 2n}`);
    } finally {
      await given.database.clear();
      await given.database.nextDeliveryId(1n);
    }
  },

  "neighbours beyond 2^53 are not mixed up": async (given) => {
    try {
      await given.database.nextDeliveryId(2n ** 53n);
      await given.fireMany(4);
      const claimed = await given.claim();
      await given.settled(claimed[1]!, dead("Error: the second"));
      assert.deepEqual((await given.rows()).map((row) => row.status), ["claimed", "dead", "claimed", "claimed"]);
    } finally {
      await given.database.clear();
      await given.database.nextDeliveryId(1n);
    }
  },

  "microseconds survive a life": async (given) => {
    const dueAt = after(given.now, 0.001);
    const now = after(given.now, 0.002);
    await given.fire({ dueAt, at: after(given.now, -0.003), occurredAt: after(given.now, -0.007) });
    const claimed = await given.claimOne({ now, leaseMs: 1 });
    assert.equal(claimed.event.occurredAt, after(given.now, -0.007));
    assert.deepEqual([claimed.availableAt, claimed.dueAt, claimed.claimedNow], [dueAt, dueAt, now]);
    assert.equal(claimed.owedSince, after(given.now, -0.003));
    assert.equal(claimed.fence.claimedAt, now);
    assert.equal((await given.row(undefined, now)).leasedUntil, after(now, 1));
    await given.settled(claimed, succeeded, after(now, 0.001));
    assert.equal((await given.row()).completedAt, after(now, 0.001));
  },

  "instants long before and long after now": async (given) => {
    const [past, future] = [-1_000_001n, 253_370_764_800_000_001n]; // a microsecond before 1970, and the year 9999
    await given.fire({ occurredAt: past, dueAt: future });
    assert.equal((await given.storage.findEvents({}))[0]?.occurredAt, past);
    assert.equal((await given.row()).dueAt, future);
    assert.ok((await given.storage.nextDue(["stock.reserve"], given.now))! > 1e12);
    await given.claimOne({ now: future });
  },

  "a payload is kept to the letter": async (given) => {
    const payload = '{ "b" : 1.0,\n"a":12345678901234567890, "b": [1e400, "\\u00e9\\ud83d\\ude00é"], "__proto__": {} }';
    await given.fire({ payload, scope: payload, trace: payload });
    const { event } = await given.claimOne();
    assert.deepEqual([event.payload, event.scope, event.trace], [payload, payload, payload]);
  },

  "any JSON value is a payload": async (given) => {
    for (const payload of ["null", "false", "0", '""', "[]", '"a string"']) {
      await given.fire({ payload });
      assert.equal((await given.claimOne()).event.payload, payload);
    }
  },

  "a payload of a mebibyte": async (given) => {
    const payload = JSON.stringify({ text: "x".repeat(1024 * 1024) });
    await given.fire({ payload });
    assert.equal((await given.claimOne()).event.payload, payload);
  },

  "an error of a hundred thousand characters": async (given) => {
    const error = randomText(100_000);
    await given.settled(await given.held(), dead(error));
    assert.equal((await given.row()).lastError, error);
  },

  "an empty error is an error": async (given) => {
    await given.settled(await given.held(), retryIn(0, ""));
    assert.equal((await given.row()).lastError, "");
  },

  "empty strings are not null": async (given) => {
    await given.fire({ key: "", topic: "", actor: "", actorLabel: "" });
    const { event } = await given.claimOne();
    assert.deepEqual([event.key, event.topic, event.actor, event.actorLabel], ["", "", "", ""]);
  },

  "names that differ in case or accent are different": async (given) => {
    const names = ["é", "e\u0301", "É", "e", "E"];
    for (const name of names) await given.fire({ receivers: [name], name, dedupeKey: name });
    for (const name of names) {
      assert.equal((await given.claimOne({ receivers: [name] })).event.name, name);
      assert.equal((await given.storage.findEvents({ name })).length, 1);
    }
  },

  "keys of prototypes are ordinary names": async (given) => {
    const keys = ["__proto__", "constructor", "toString", "hasOwnProperty"];
    await given.fire({ receivers: keys });
    const claimed = await given.claim({ receivers: keys });
    assert.deepEqual(claimed.map((each) => each.receiverKey).toSorted(), keys.toSorted());
    assert.deepEqual(
      (await given.storage.health(given.now)).receivers.map(({ key }) => key).toSorted(),
      keys.toSorted(),
    );
    await given.storage.announce({ app: "__proto__", release: "1", receivers: keys, now: given.now });
    assert.equal((await given.storage.strangers([], 1_000, given.later(1_500))).length, 4);
  },

  ...forEachText("an event", async (given, text) => {
    const event = anEvent({
      name: text,
      key: text,
      topic: text,
      payload: JSON.stringify({ [text]: text }),
      actor: text,
      actorLabel: text,
      scope: JSON.stringify({ [text]: text }),
      correlationId: uuidv7(),
      causationId: uuidv7(),
      trace: JSON.stringify(text),
    });
    await given.storage.transaction((tx) => given.storage.append(tx, [event], [], given.now));
    const { dedupeKey: _, suppressedReason: _s, retentionSeconds: _r, deleteWhen: _d, ...stored } = event;
    const expected = [{ ...stored, occurredAt: given.now }];
    assert.deepEqual(await given.storage.findEvents({}), expected);
    assert.deepEqual(await given.storage.findEvents({ name: text }), expected);
  }),

  ...forEachText("a target and an error", async (given, text) => {
    await given.fire({ target: text });
    const claimed = await given.claimOne();
    assert.equal(claimed.target, text);
    await given.settled(claimed, retryIn(0, text));
    const { target, lastError } = await given.row();
    assert.deepEqual([target, lastError], [text, text]);
    await given.settled(await given.claimOne(), succeeded);
    assert.equal((await given.row()).target, text);
    const reopening = { eventId: claimed.event.id, deliveries: [aDebt(claimed.event, { target: text })] };
    assert.deepEqual(await given.storage.reopen([reopening], given.now), { reopened: 1, added: 0 });
    const again = await given.claimOne();
    assert.equal(again.target, text);
    await given.settled(again, dead(text));
    assert.deepEqual(await given.storage.reopen([reopening], given.now), { reopened: 1, added: 0 });
  }),

  ...forEachText("a receiver, a worker and an app", async (given, text) => {
    if (text.length > 1_000) text = text.slice(0, 200); // names are bounded where they are declared
    await given.fire({ receivers: [text] });
    await given.storage.announce({ app: text, release: text, receivers: [text], now: given.later(1_000) });
    assert.deepEqual(await given.storage.strangers([], 1_000, given.later(1_500)), []);
    assert.deepEqual(await given.storage.strangers([], 0, given.later(2_000)), [text]);
    assert.deepEqual(await given.storage.strangers([text], 0, given.later(2_000)), []);
    assert.equal(await given.storage.nextDue([text], given.now), 0);
    const claimed = await given.claimOne({ receivers: [text], worker: text });
    assert.deepEqual([claimed.receiverKey, claimed.fence.claimedBy], [text, text]);
    assert.equal(await given.storage.releaseUnknown(text, [claimed.fence.id]), 0);
    await given.settled(claimed, released);
    const { fence, event } = await given.claimOne({ receivers: [text], worker: text });
    const taken = await given.storage.take({ fence, worker: `${text}'`, leaseMs: 60_000, now: given.now });
    assert.deepEqual([taken?.receiverKey, taken?.fence.claimedBy], [text, `${text}'`]);
    await given.settled(taken!, succeeded);
    assert.equal((await given.storage.findDeliveries({ receiverKey: text })).length, 1);
    const reopening = { eventId: event.id, deliveries: [aDebt(event, { receiverKey: text })] };
    assert.deepEqual(await given.storage.reopen([reopening], given.now), { reopened: 1, added: 0 });
  }),

  ...forEachText("a dedupe key", async (given, text) => {
    if (text.length > 1_000) text = text.slice(0, 200);
    const first = await given.fire({ dedupeKey: text });
    const again = anEvent({ dedupeKey: text });
    const { duplicates } = await given.storage.transaction((tx) => given.storage.append(tx, [again], [], given.now));
    assert.deepEqual([...duplicates], [[again.id, first.id]]);
  }),
};
