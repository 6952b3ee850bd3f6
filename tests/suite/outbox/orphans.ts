import assert from "node:assert/strict";
import { deliverPending, drainOutbox, type OutboxOptions, receiver } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { clocked, living } from "./clocked.ts";
import type { Cases, Given } from "./given.ts";
import { failing, onOrder, order, OrderPlaced, StockReserved } from "./samples.ts";

/** An order is owed to `gone`, and the outbox of a release that does not list it any more. */
async function removed(given: Given, options: Partial<OutboxOptions> = {}) {
  const before = given.outbox([onOrder("stays"), onOrder("gone")]);
  await given.fire(before, order());
  // Other cases' outboxes may still be announcing theirs.
  const listed = () =>
    given.database.query(`select * from ${given.database.table("receivers")} where receiver_key in ('stays', 'gone')`);
  await waitFor(async () => (await listed()).length === 2, { what: "the announcement" });
  const process = clocked(given, [onOrder("stays")], options);
  process.clock.advance({ seconds: 1 }); // what was fired went by the database's clock, which is finer
  return process;
}

const announce = (given: Given, { clock }: ReturnType<typeof clocked>) =>
  given.storage.announce({ app: "other", release: "", receivers: ["gone"], now: clock.now() });

export const orphanCases: Cases = {
  "pitfall 66: a row of an unknown receiver is left alone for the grace, then orphaned": async (given) => {
    const process = await removed(given);
    assert.deepEqual(await living(process, 14), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stays succeeded 1", "gone pending 0"]);
    assert.deepEqual(await living(process, 3), { orphaned: 1 });
    assert.deepEqual(await given.outcomes(), ["stays succeeded 1", "gone orphaned 0"]);
    assert.match((await given.row("gone")).lastError!, /No process has listed receiver "gone" lately/);
  },

  "each row has the grace for itself, from when it was due": async (given) => {
    const before = given.outbox([failing("gone")]);
    await given.fire(before, order(1));
    await deliverPending(before); // due again in five minutes
    await given.fire(before, order(2));
    const process = clocked(given, [onOrder("stays")]);
    assert.deepEqual(await living(process, 18), { orphaned: 1 });
    assert.deepEqual(await given.outcomes(), ["gone failed 1", "gone orphaned 0"]);
    assert.deepEqual(await living(process, 5), { orphaned: 1 });
  },

  "not while another process lists it": async (given) => {
    const process = await removed(given);
    assert.deepEqual(await living(process, 10), { succeeded: 1 });
    await announce(given, process);
    assert.deepEqual(await living(process, 14), {});
    assert.deepEqual(await given.outcomes(), ["stays succeeded 1", "gone pending 0"]);
    assert.deepEqual(await living(process, 2), { orphaned: 1 });
  },

  "whoever comes back first after an outage ends nobody's rows: the others have the grace to come back too": async (
    given,
  ) => {
    const process = await removed(given);
    assert.deepEqual(await living(process, 1), { succeeded: 1 });
    await announce(given, process);
    process.clock.advance({ hours: 3 }); // nobody could announce
    assert.deepEqual(await living(process, 14), {});
    await announce(given, process); // the other application is back
    assert.deepEqual(await living(process, 14), {});
    assert.deepEqual(await given.outcomes(), ["stays succeeded 1", "gone pending 0"]);
  },

  "nor does one whose own announcements fail": async (given) => {
    let failing = true;
    const storage = given.changed({
      announce: (announcement) =>
        failing && announcement.app === "app"
          ? Promise.reject(new Error("down"))
          : given.storage.announce(announcement),
    });
    const process = await removed(given, { storage });
    assert.deepEqual(await living(process, 40), { succeeded: 1 });
    failing = false;
    assert.deepEqual(await living(process, 14), {});
    assert.deepEqual(await living(process, 10), { orphaned: 1 });
  },

  "a call of a process that has just begun ends nobody's rows": async (given) => {
    const { clock } = await removed(given);
    clock.advance({ hours: 3 });
    const outbox = given.outbox([onOrder("stays")]);
    assert.deepEqual(await deliverPending(outbox, { now: clock.date }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stays succeeded 1", "gone pending 0"]);
  },

  "the grace is a setting": async (given) => {
    const process = await removed(given, { settings: { orphanAfter: { minutes: 4 } } });
    assert.deepEqual(await living(process, 3), { succeeded: 1 });
    assert.deepEqual(await living(process, 4), { orphaned: 1 });
  },

  "draining waits for no grace": async (given) => {
    const { outbox } = await removed(given);
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1, orphaned: 1 });
  },

  "a receiver that is not durable any more has no rows to run": async (given) => {
    let ran = 0;
    await removed(given);
    const outbox = given.outbox([onOrder("stays"), onOrder("gone", () => ran++, { mode: "inline" })]);
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1, orphaned: 1 });
    assert.equal(ran, 0);
  },

  "pitfall 95: an orphan is no failed attempt, and is not logged as one": async (given) => {
    await drainOutbox((await removed(given)).outbox);
    assert.deepEqual(given.logs.lines("warning"), []);
  },

  "many of them end in one call": async (given) => {
    const before = given.outbox([onOrder("gone"), receiver(StockReserved, "gone too", () => {})]);
    await given.fire(before, ...Array(30).fill(order()), ...Array(30).fill(StockReserved({ orderId: 1 })));
    const outbox = given.outbox([], { events: [OrderPlaced, StockReserved], settings: { batchSize: 7 } });
    assert.deepEqual(await drainOutbox(outbox), { orphaned: 60 });
  },
};
