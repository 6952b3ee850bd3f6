import assert from "node:assert/strict";
import { assertFired, fire, fireAll, outboxHealth } from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { onOrder, order, OrderPlaced } from "./samples.ts";

const reason = new Error("the caller went away");
const signal = AbortSignal.abort(reason);

export const signalCases: Cases = {
  "a fire whose signal has aborted writes nothing, and the transaction stays usable": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await outbox.transaction(async (tx) => {
      assert.equal(await rejection(fire(tx, order(), { signal })), reason);
      assert.equal(await rejection(fireAll(tx, [order()], { signal })), reason);
      assert.equal(await rejection(fire(outbox, order(), { signal })), reason);
      await given.note(tx.client, "kept");
    });
    assert.deepEqual(await given.events(), []);
    assert.deepEqual(await given.notes(), ["kept"]);
  },

  "a transaction whose signal has aborted does not begin": async (given) => {
    let ran = false;
    const outbox = given.outbox([onOrder("stock")]);
    const work = () => Promise.resolve(void (ran = true));
    assert.equal(await rejection(outbox.transaction(work, { signal })), reason);
    assert.equal(await rejection(outbox.joining(work, { signal })), reason);
    assert.equal(ran, false);
  },

  "one that aborts meanwhile is rolled back": async (given) => {
    const ran: string[] = [];
    const outbox = given.outbox([onOrder("after", () => ran.push("after"), { mode: "on-commit" })]);
    const stop = new AbortController();
    const error = await rejection(outbox.transaction(async (tx) => {
      await fire(tx, order());
      stop.abort(reason);
    }, { signal: stop.signal }));
    assert.equal(error, reason);
    assert.deepEqual(ran, []);
    await given.nothing();
  },

  "what looks at the outbox takes one too": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    assert.equal(await rejection(assertFired(outbox, OrderPlaced, { signal })), reason);
    assert.equal(await rejection(outboxHealth(outbox, { signal })), reason);
  },
};
