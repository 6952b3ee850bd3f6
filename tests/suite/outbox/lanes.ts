import assert from "node:assert/strict";
import { deliverPending, drainOutbox, type ReceiverOptions, runRelay, type Storage } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { clocked, living } from "./clocked.ts";
import { type Cases, type Given, later, rejection } from "./given.ts";
import { onOrder, order } from "./samples.ts";

const mailLane: ReceiverOptions = { lane: "mail" };

/** A receiver in each of three lanes. */
function threeLanes(given: Given) {
  return given.outbox([
    onOrder("stock"),
    onOrder("mail", () => {}, mailLane),
    onOrder("sms", () => {}, { lane: "sms" }),
  ]);
}

const listed = (given: Given) =>
  given.database.query(`select * from ${given.database.table("receivers")} where receiver_key = 'gone'`);

export const laneCases: Cases = {
  "a lane is served by itself, the default one is that of receivers which name none": async (given) => {
    const outbox = threeLanes(given);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { lane: "default" }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "mail pending 0", "sms pending 0"]);
    assert.deepEqual(await deliverPending(outbox, { lane: "mail" }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "mail succeeded 1", "sms pending 0"]);
  },

  "null is every lane, and what deliverPending and drainOutbox serve unless told": async (given) => {
    const outbox = threeLanes(given);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { lane: null }), { succeeded: 3 });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 3 });
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 3 });
  },

  "a relay serves the default lane, the one that it is told to, or with null all of them": async (given) => {
    const outbox = threeLanes(given);
    const serve = async (lane?: string | null) => {
      await given.fire(outbox, order());
      return await runRelay(outbox, { passes: 1, ...(lane !== undefined && { lane }) });
    };
    assert.deepEqual(await serve(), { succeeded: 1 });
    assert.deepEqual(await serve("sms"), { succeeded: 2 });
    assert.deepEqual(await serve("default"), { succeeded: 2 });
    assert.deepEqual(await serve(null), { succeeded: 1 + 4 + 2 });
  },

  "pitfall 69: a lane that nobody declares is refused, and those that are declared are named": async (given) => {
    const outbox = threeLanes(given);
    await given.fire(outbox, order());
    for (const lane of ["mial", "", "DEFAULT"]) {
      for (const serve of [deliverPending(outbox, { lane }), runRelay(outbox, { lane, passes: 1 })]) {
        const error = await rejection(serve);
        assert.ok(error instanceof RangeError);
        assert.match(error.message, /no listed receiver declares it, declared are default, mail, sms$/);
      }
    }
    assert.deepEqual(await given.outcomes(), ["stock pending 0", "mail pending 0", "sms pending 0"]);
    await deliverPending(given.outbox([onOrder("mail", () => {}, mailLane)]), { lane: "default" });
  },

  "pitfall 65: the rows of a crashed relay are taken by its own lane alone": async (given) => {
    const outbox = threeLanes(given);
    await given.fire(outbox, order());
    const receivers = ["stock", "mail"].map((key) => ({ key, leaseMs: 1000 }));
    assert.equal((await given.storage.claim({ worker: "crashed", receivers, limit: 10 })).length, 2);
    const now = later({ minutes: 1 });
    assert.deepEqual(await deliverPending(outbox, { lane: "default", now }), { succeeded: 1 });
    assert.deepEqual(await deliverPending(outbox, { lane: "sms", now }), { succeeded: 1 });
    assert.equal((await given.row("mail")).claimedBy, "crashed");
    assert.deepEqual(await deliverPending(outbox, { lane: "mail", now }), { succeeded: 1 });
  },

  "pitfall 66: rows of a receiver that is gone end in the default lane, whatever lane it had": async (given) => {
    await given.fire(given.outbox([onOrder("gone", () => {}, mailLane)]), order());
    await waitFor(async () => (await listed(given)).length === 1, { what: "the announcement" });
    const process = clocked(given, [onOrder("stock"), onOrder("mail", () => {}, mailLane)]);
    assert.deepEqual(await living(process, 18, { lane: "mail" }), {});
    assert.deepEqual(await deliverPending(process.outbox, { lane: "default" }), { orphaned: 1 });
  },

  "pitfall 66: so they do with relays": async (given) => {
    await given.fire(given.outbox([onOrder("gone", () => {}, mailLane)]), order());
    let looks = 0;
    const announce: Storage["announce"] = (announcement) => {
      looks++;
      return given.storage.announce(announcement);
    };
    const outbox = given.outbox([onOrder("stock"), onOrder("mail", () => {}, mailLane)], {
      storage: given.changed({ announce }),
      settings: { orphanAfter: { milliseconds: 50 } },
    });
    await using _mail = await given.relay(outbox, { lane: "mail" });
    // It looks thrice in each grace.
    await waitFor(() => looks > 9, { what: "the mail relay to look around for three graces" });
    assert.equal((await given.row()).status, "pending");
    await using _all = await given.relay(outbox);
    await waitFor(async () => (await given.row()).status === "orphaned", { what: "the default lane" });
  },

  "a receiver that moves to another lane takes what it is owed along": async (given) => {
    const plain = given.outbox([onOrder("stock")]);
    const moved = given.outbox([onOrder("stock", () => {}, mailLane)]);
    await given.fire(plain, order());
    assert.deepEqual(await deliverPending(moved, { lane: "default" }), {});
    assert.deepEqual(await deliverPending(moved, { lane: "mail" }), { succeeded: 1 });
    await given.fire(moved, order());
    assert.deepEqual(await deliverPending(plain, { lane: "default" }), { succeeded: 1 });
  },

  "an eager receiver is attempted where it is fired, whatever its lane": async (given) => {
    await given.fire(given.outbox([onOrder("mail", () => {}, { ...mailLane, eager: true })]), order());
    assert.deepEqual(await given.outcomes(), ["mail succeeded 1"]);
  },

  "work that is slow in one lane keeps nothing in another waiting": async (given) => {
    const gate = Promise.withResolvers<void>();
    const outbox = given.outbox([onOrder("mail", () => gate.promise, mailLane), onOrder("stock")]);
    await using _mail = await given.relay(outbox, { lane: "mail" });
    await using _stock = await given.relay(outbox);
    try {
      await given.fire(outbox, order(1), order(2));
      await waitFor(async () => (await given.outcomes()).filter((one) => one === "stock succeeded 1").length === 2, {
        what: "the default lane",
      });
      assert.ok((await given.outcomes()).every((one) => !one.startsWith("mail succeeded")));
    } finally {
      gate.resolve();
    }
  },
};
