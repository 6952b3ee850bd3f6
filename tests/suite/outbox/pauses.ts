import assert from "node:assert/strict";
import {
  deliverOne,
  deliverPending,
  deliverTask,
  drainOutbox,
  NotYet,
  type ReceiverOptions,
  RetryAfter,
  type TaskMessage,
} from "../../../mod.ts";
import type { FencedSettlement } from "../../../src/storage/settlement.ts";
import type { ClaimRequest } from "../../../src/storage/storage.ts";
import { waitFor } from "../../support/wait_for.ts";
import { clocked, drawn } from "./clocked.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { onOrder, order } from "./samples.ts";

const mailLane: ReceiverOptions = { lane: "mail", giveUpAfter: { days: 2 } };
const minute = { seconds: 60 } as const;
const throttle = () => new RetryAfter(minute, { reason: "sending rate exceeded", counts: false });

/** A mailer whose provider is throttled while `throttled` is true, and the orders that it was called for. */
function mailer(options: ReceiverOptions = mailLane, key = "mail") {
  const provider = { throttled: true, calls: [] as number[] };
  const mail = onOrder(key, ({ orderId }) => {
    provider.calls.push(orderId);
    if (provider.throttled) throw throttle();
  }, options);
  return { mail, provider };
}

/** How many rows are as described, as `"mail failed 0"`. */
async function count(given: Given, outcome: string): Promise<number> {
  return (await given.outcomes()).filter((one) => one === outcome).length;
}

const until = (given: Given, outcome: string, times: number) =>
  waitFor(async () => await count(given, outcome) === times, { what: `${times} times "${outcome}"` });

/** Rows of the mailer that another worker can take at this moment. */
async function takeable(given: Given, now: bigint): Promise<number> {
  const storage = given.database.second ?? given.storage;
  const receivers = [{ key: "mail", leaseMs: 60_000 }];
  return (await storage.claim({ worker: "other", receivers, limit: 100, now })).length;
}

/** The storage, and the receivers that each claim of due rows asked for. */
function watched(given: Given) {
  const asked: string[][] = [];
  const storage = given.changed({
    claim: (request: ClaimRequest, within) => {
      asked.push(request.receivers.map(({ key }) => key));
      return given.storage.claim(request, within);
    },
    nextDue: (keys, now) => {
      asked.push([...keys]);
      return given.storage.nextDue(keys, now);
    },
  });
  return { asked, storage };
}

export const pauseCases: Cases = {
  "a throttle costs one call a pause, not one a row": async (given) => {
    const { mail, provider } = mailer();
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(20).map(order));
    const relay = await given.relay(outbox, { lane: "mail" });
    for (const pause of upTo(4)) {
      await until(given, "mail failed 0", pause);
      await until(given, "mail pending 0", 20 - pause);
      assert.equal(provider.calls.length, pause);
      clock.advance(minute);
    }
    await until(given, "mail failed 0", 5);
    assert.deepEqual(await relay.stop(), { failed: 5 });
    // What was given back kept its place at the head of the queue.
    assert.deepEqual(provider.calls, [1, 2, 3, 4, 5]);
  },

  "the pause does not end before the time that was asked for": async (given) => {
    const { mail, provider } = mailer();
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, order(1), order(2));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail failed 0", 1);
    await until(given, "mail pending 0", 1);
    clock.advance({ milliseconds: 59_999 });
    await clock.asleepAfter(() => given.fire(outbox, order(3)));
    assert.deepEqual(provider.calls, [1]);
    clock.advance({ milliseconds: 1 });
    await until(given, "mail failed 0", 2);
    await relay.stop();
    assert.deepEqual(provider.calls, [1, 2]);
  },

  "pitfall 89: the lane pauses for the time that was asked for, not for the jittered one": async (given) => {
    const { mail, provider } = mailer();
    const { outbox, clock } = clocked(given, [mail]);
    await drawn(0.99, async () => {
      await given.fire(outbox, order(1), order(2));
      await using relay = await given.relay(outbox, { lane: "mail" });
      await until(given, "mail failed 0", 1);
      const [row] = await given.rows();
      assert.equal(row!.availableAt - clock.now(), 119_400_000n);
      clock.advance(minute);
      await until(given, "mail failed 0", 2);
      await relay.stop();
    });
    assert.deepEqual(provider.calls, [1, 2]);
  },

  "pitfall 87: what was not started is handed back, and another worker can have it at once": async (given) => {
    const { mail, provider } = mailer();
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(10).map(order));
    await using _relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail pending 0", 9);
    assert.equal(await takeable(given, clock.now()), 9);
    assert.deepEqual(provider.calls, [1]);
    assert.deepEqual((await given.rows()).map((row) => row.lapses), Array(10).fill(0));
  },

  "what runs finishes, none is started, and the lane waits for the latest moment of all": async (given) => {
    const waits = [{ seconds: 30 }, { seconds: 90 }, { seconds: 10 }];
    const gates = waits.map(() => Promise.withResolvers<void>());
    const calls: number[] = [];
    let throttled = true;
    const mail = onOrder("mail", async ({ orderId }) => {
      calls.push(orderId);
      if (!throttled) return;
      await gates[orderId - 1]!.promise;
      if (orderId <= 3) throw new RetryAfter(waits[orderId - 1]!, { counts: false });
    }, mailLane);
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(9).map(order));
    gates.push(Promise.withResolvers<void>());
    await using relay = await given.relay(outbox, { lane: "mail", concurrency: 4 });
    await waitFor(() => calls.length === 4, { what: "four to run" });
    for (const n of upTo(3)) {
      gates[n - 1]!.resolve();
      await until(given, "mail failed 0", n);
    }
    await until(given, "mail pending 0", 5);
    gates[3]!.resolve();
    await until(given, "mail succeeded 1", 1);
    assert.deepEqual(calls, [1, 2, 3, 4]);
    throttled = false;
    clock.advance({ seconds: 89 });
    await clock.asleepAfter(() => given.fire(outbox, order(10)));
    assert.deepEqual(calls, [1, 2, 3, 4]);
    clock.advance({ seconds: 1 });
    // The second one asked for 90 s, and its own jitter brings it back later than that.
    await until(given, "mail succeeded 1", 9);
    await relay.stop();
  },

  "when the pause ends one is let through, and all when that one met no deferral": async (given) => {
    const { mail: _, provider } = mailer();
    const gate = Promise.withResolvers<void>();
    const mail = onOrder("mail", ({ orderId }) => {
      provider.calls.push(orderId);
      if (provider.throttled) throw throttle();
      return orderId === 2 ? gate.promise : undefined;
    }, mailLane);
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(20).map(order));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail pending 0", 19);
    provider.throttled = false;
    clock.advance(minute);
    await waitFor(() => provider.calls.length === 2, { what: "the probe" });
    await clock.asleepAfter(() => given.fire(outbox, order(21)));
    assert.deepEqual(provider.calls, [1, 2]);
    // The clock stands still from here on: nothing but the end of the probe can set the rest going.
    gate.resolve();
    await until(given, "mail succeeded 1", 20);
    await relay.stop();
  },

  "a failure of the one that is let through opens the lane: it is no deferral": async (given) => {
    const { mail: _, provider } = mailer();
    const mail = onOrder("mail", ({ orderId }) => {
      provider.calls.push(orderId);
      if (provider.throttled) throw throttle();
      if (orderId === 2) throw new Error("no such address");
    }, mailLane);
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(9).map(order));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail pending 0", 8);
    provider.throttled = false;
    clock.advance(minute);
    await until(given, "mail succeeded 1", 7);
    await relay.stop();
    assert.deepEqual([await count(given, "mail failed 1"), await count(given, "mail failed 0")], [1, 1]);
  },

  "a deferral that is a row's last pauses the lane too": async (given) => {
    const { mail, provider } = mailer({ lane: "mail", giveUpAfter: { days: 1 } });
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(9).map(order));
    clock.advance({ days: 1 });
    await using relay = await given.relay(outbox, { lane: "mail" });
    for (const pause of upTo(3)) {
      await until(given, "mail dead 0", pause);
      await until(given, "mail pending 0", 9 - pause);
      assert.equal(provider.calls.length, pause);
      clock.advance(minute);
    }
    await until(given, "mail dead 0", 4);
    await relay.stop();
    assert.equal(provider.calls.length, 4);
  },

  "one that does not reach its receiver says nothing of the destination: the next one is let through": async (
    given,
  ) => {
    const calls: number[] = [];
    const mail = onOrder("mail", ({ orderId }) => {
      calls.push(orderId);
      if (orderId === 1) throw throttle();
      // Takes a while to hear of it: were the lane open, others would be called meanwhile.
      return given.events().then(() => Promise.reject(throttle()));
    }, mailLane);
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, ...upTo(9).map(order));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail pending 0", 8);
    const second = (await given.rows())[1]!;
    await given.database.query(
      `update ${given.database.table("deliveries")} set lapses = 9 where id = ${second.id}`,
    );
    clock.advance(minute);
    await until(given, "mail dead 0", 1);
    await until(given, "mail failed 0", 2);
    await until(given, "mail pending 0", 6);
    await relay.stop();
    assert.deepEqual(calls, [1, 3]);
  },

  "a relay of every lane pauses the one that deferred and no other": async (given) => {
    const { mail, provider } = mailer();
    const { asked, storage } = watched(given);
    const { outbox, clock } = clocked(given, [mail, onOrder("stock")], { storage });
    await given.fire(outbox, ...upTo(10).map(order));
    await using relay = await given.relay(outbox, { lane: null });
    // The other lane's rows of the same batch are delivered, those of the lane are handed back.
    await until(given, "stock succeeded 1", 10);
    await until(given, "mail pending 0", 9);
    asked.splice(0);
    await given.fire(outbox, ...upTo(5).map(order));
    await until(given, "stock succeeded 1", 15);
    assert.ok(asked.length > 0 && asked.flat().every((key) => key === "stock"), JSON.stringify(asked));
    assert.deepEqual(provider.calls, [1]);
    clock.advance(minute);
    await until(given, "mail failed 0", 2);
    await relay.stop();
    assert.deepEqual(provider.calls, [1, 2]);
  },

  "a relay of the paused lane alone does not even ask the database": async (given) => {
    const { mail, provider } = mailer();
    const { asked, storage } = watched(given);
    const { outbox, clock } = clocked(given, [mail, onOrder("stock")], { storage });
    await given.fire(outbox, order(1), order(2));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail pending 0", 1);
    await clock.asleepAfter(() => given.fire(outbox, order(3)));
    asked.splice(0);
    for (const n of upTo(3)) await clock.asleepAfter(() => given.fire(outbox, order(n + 3)));
    assert.deepEqual([asked, provider.calls], [[], [1]]);
    clock.advance(minute);
    await until(given, "mail failed 0", 2);
    await relay.stop();
  },

  "the pause is a relay's own: another learns of the throttle by one call of its own": async (given) => {
    const { mail, provider } = mailer();
    const first = clocked(given, [mail]);
    const { outbox } = clocked(given, [mail], { storage: given.database.second ?? given.storage });
    await given.fire(first.outbox, ...upTo(10).map(order));
    await using one = await given.relay(first.outbox, { lane: "mail" });
    await until(given, "mail pending 0", 9);
    await using other = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail failed 0", 2);
    await until(given, "mail pending 0", 8);
    await one.stop();
    await other.stop();
    assert.deepEqual(provider.calls, [1, 2]);
  },

  "pitfall 89: a deferral that was not recorded, since the row was lost, pauses nothing": async (given) => {
    const calls: number[] = [];
    const outbox = given.outbox([
      onOrder("mail", async ({ orderId }) => {
        calls.push(orderId);
        if (orderId > 1) return;
        await given.steal("mail");
        throw throttle();
      }, mailLane),
    ]);
    await given.fire(outbox, order(1), order(2), order(3));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(calls, [1, 2, 3]);
    assert.equal((await given.rows())[0]!.claimedBy, "thief");
  },

  "pitfall 90: what cannot be handed back is not attempted": async (given) => {
    const { mail, provider } = mailer();
    const refused: number[] = [];
    let broken = true;
    const storage = given.changed({
      settle: (group: readonly FencedSettlement[], ...rest) => {
        if (!broken || group.every(({ settlement }) => settlement.kind !== "released")) {
          return given.storage.settle(group, ...rest);
        }
        refused.push(group.length);
        return Promise.reject(new Error("the database went away"));
      },
    });
    const { outbox, clock } = clocked(given, [mail], { storage });
    await given.fire(outbox, ...upTo(10).map(order));
    await using relay = await given.relay(outbox, { lane: "mail" });
    await until(given, "mail failed 0", 1);
    await waitFor(() => refused.length > 0, { what: "the hand-back" });
    await clock.asleepAfter(() => given.fire(outbox, order(11)));
    assert.deepEqual([refused, provider.calls], [[9], [1]]);
    assert.match(given.logs.lines("warning", "delivery").at(-1)!, /could not record 9 outcomes .* sent again/);
    broken = false;
    clock.advance({ seconds: 5 });
    await until(given, "mail pending 0", 10);
    await relay.stop();
    assert.deepEqual(provider.calls, [1]);
  },

  "a retry that counts, and what is not due yet, pause nothing": async (given) => {
    const errors = [new RetryAfter(minute), new NotYet(later({ hours: 1 }))];
    const outbox = given.outbox([
      onOrder("mail", ({ orderId }) => {
        if (errors[orderId]) throw errors[orderId];
      }, mailLane),
    ]);
    await given.fire(outbox, order(0), order(1), order(2));
    assert.deepEqual(await deliverPending(outbox), { failed: 1, pending: 1, succeeded: 1 });
  },

  "pitfall 87: deliverPending sets the lane aside until it returns, and delivers the others": async (given) => {
    const { mail, provider } = mailer();
    const outbox = given.outbox([mail, onOrder("stock")]);
    await given.fire(outbox, ...upTo(10).map(order));
    assert.deepEqual(await deliverPending(outbox, { batchSize: 3 }), { failed: 1, succeeded: 10 });
    assert.deepEqual(provider.calls, [1]);
    assert.equal(await takeable(given, BigInt(Date.now()) * 1000n + 1_000_000n), 9);
  },

  "the next call of deliverPending knows of no pause": async (given) => {
    const { mail, provider } = mailer();
    const outbox = given.outbox([mail]);
    await given.fire(outbox, ...upTo(5).map(order));
    for (const _ of upTo(3)) assert.deepEqual(await deliverPending(outbox, { lane: "mail" }), { failed: 1 });
    assert.deepEqual(provider.calls, [1, 2, 3]);
  },

  "inside a caller's transaction the lane is set aside too": async (given) => {
    const { mail, provider } = mailer();
    const outbox = given.outbox([mail, onOrder("stock")]);
    await given.fire(outbox, ...upTo(5).map(order));
    const before = await given.outcomes();
    await rejection(outbox.transaction(async (tx) => {
      assert.deepEqual(await deliverPending(tx), { failed: 1, succeeded: 5 });
      throw new Error("undo");
    }));
    assert.deepEqual([provider.calls, await given.outcomes()], [[1], before]);
  },

  "a receiver that waits for its transaction to be undone pauses its lane before the next one starts": async (
    given,
  ) => {
    const calls: number[] = [];
    const outbox = given.outbox([
      onOrder("mail", async ({ orderId }, ctx) => {
        calls.push(orderId);
        await ctx.transaction();
        throw throttle();
      }, mailLane),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await deliverPending(outbox, { concurrency: 2 }).then((counts) => Object.keys(counts)), [
      "failed",
    ]);
    // Those that run beside it finish; none is started after it.
    assert.ok(calls.length <= Math.min(2, given.storage.capabilities.maxConcurrency), `${calls.length} calls`);
  },

  "pitfall 87: draining ends, and sets the lane aside": async (given) => {
    const { mail, provider } = mailer();
    const outbox = given.outbox([mail, onOrder("stock")]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await drainOutbox(outbox), { failed: 1, succeeded: 5 });
    assert.deepEqual(provider.calls, [1]);
  },

  "deliverOne records a deferral, and pauses no relay of the lane": async (given) => {
    const { mail, provider } = mailer({ ...mailLane, due: ({ orderId }) => ({ hours: orderId === 3 ? 0 : 1 }) });
    const { outbox } = clocked(given, [mail]);
    await using relay = await given.relay(outbox, { lane: "mail" });
    await given.fire(outbox, order(1), order(2));
    for (const { id } of await given.rows()) assert.equal(await deliverOne(outbox, id), "failed");
    assert.deepEqual(provider.calls, [1, 2]);
    assert.deepEqual(await given.outcomes(), ["mail failed 0", "mail failed 0"]);
    await given.fire(outbox, order(3));
    await until(given, "mail failed 0", 3);
    await relay.stop();
  },

  "an eager attempt records a deferral and pauses nothing: each fire calls once": async (given) => {
    const { mail, provider } = mailer({ ...mailLane, eager: true });
    const { outbox } = clocked(given, [mail]);
    await given.fire(outbox, order(1), order(2));
    await given.fire(outbox, order(3));
    assert.deepEqual([...provider.calls].sort(), [1, 2, 3]);
    assert.deepEqual(await given.outcomes(), Array(3).fill("mail failed 0"));
  },

  "a task records a deferral and pauses nothing; a row that was handed over stays so": async (given) => {
    const { mail, provider } = mailer({ ...mailLane, site: "task" });
    const queue: TaskMessage[] = [];
    const tasks = { enqueue: (message: TaskMessage) => Promise.resolve(void queue.push(message)) };
    const { outbox } = clocked(given, [mail], { tasks });
    await using relay = await given.relay(outbox, { lane: "mail" });
    await given.fire(outbox, order(1), order(2));
    await waitFor(() => queue.length === 2, { what: "the messages" });
    for (const message of queue) assert.equal(await deliverTask(outbox, message), "failed");
    assert.deepEqual([...provider.calls].sort(), [1, 2]);
    assert.deepEqual(await given.outcomes(), Array(2).fill("mail failed 0"));
    await given.fire(outbox, order(3));
    await waitFor(() => queue.length === 3, { what: "the next message" });
    await relay.stop();
  },

  "a lane is paused in the middle of a batch that mixes it with tasks, which keep going out": async (given) => {
    const { mail, provider } = mailer();
    const queue: TaskMessage[] = [];
    const tasks = { enqueue: (message: TaskMessage) => Promise.resolve(void queue.push(message)) };
    const later = onOrder("later", () => {}, { site: "task" });
    const { outbox } = clocked(given, [mail, later], { tasks });
    await given.fire(outbox, ...upTo(3).map(order));
    await using relay = await given.relay(outbox, { lane: null });
    await waitFor(() => queue.length === 3, { what: "the messages" });
    await until(given, "mail pending 0", 2);
    await relay.stop();
    assert.deepEqual(provider.calls, [1]);
  },

  "a row whose receiver is gone ends while the default lane is paused: it costs no call": async (given) => {
    const mail = onOrder("mail", () => {
      throw new RetryAfter({ hours: 20 }, { counts: false });
    }, { giveUpAfter: { days: 2 } });
    await given.fire(given.outbox([onOrder("gone")]), order());
    const { outbox, clock } = clocked(given, [mail]);
    await given.fire(outbox, order(1), order(2));
    await using relay = await given.relay(outbox);
    await until(given, "mail failed 0", 1);
    await until(given, "mail pending 0", 1);
    for (const _minute of upTo(17)) await clock.asleepAfter(() => clock.advance({ minutes: 1 }));
    await until(given, "gone orphaned 0", 1);
    assert.deepEqual(await relay.stop(), { failed: 1, orphaned: 1 });
  },
};
