import assert from "node:assert/strict";
import {
  createOutbox,
  deliverOne,
  deliverPending,
  deliverTask,
  type DeliveryFailure,
  drainOutbox,
  event,
  fire,
  NotYet,
  type Outbox,
  type OutboxOptions,
  type Receiver,
  type ReceiverOptions,
  RetryAfter,
  type TaskBackend,
  type TaskMessage,
  TaskRefused,
} from "../../../mod.ts";
import { takeTime, waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

/** A queue in memory: what is put on it stays, as text, until the case looks. */
class Queue implements TaskBackend {
  readonly texts: string[] = [];

  enqueue(message: TaskMessage): Promise<void> {
    this.texts.push(JSON.stringify(message));
    return Promise.resolve();
  }

  get messages(): TaskMessage[] {
    return this.texts.map((text) => JSON.parse(text));
  }
}

const task = (options: ReceiverOptions = {}): ReceiverOptions => ({ site: "task", ...options });
const microseconds = (date: Date) => BigInt(date.getTime()) * 1000n;

/** An outbox with a queue, and one order handed over by it. */
async function handedOver(
  given: Given,
  receivers: readonly Receiver[],
  options: Partial<OutboxOptions> = {},
): Promise<{ outbox: Outbox; queue: Queue; message: TaskMessage }> {
  const queue = new Queue();
  const outbox = given.outbox(receivers, { tasks: queue, ...options });
  await given.fire(outbox, order());
  assert.deepEqual(await deliverPending(outbox), {});
  assert.equal(queue.messages.length, 1);
  return { outbox, queue, message: queue.messages[0]! };
}

export const taskSiteCases: Cases = {
  "the relay hands over the id with its claim, and moves on": async (given) => {
    let ran = 0;
    const queue = new Queue();
    const outbox = given.outbox([onOrder("mail", () => ran++, task()), onOrder("stock")], { tasks: queue });
    await given.fire(outbox, order());
    const relay = await given.relay(outbox, { workerId: "box-1" });
    await waitFor(async () => queue.texts.length === 1 && (await given.row("stock")).status === "succeeded", {
      what: "the message",
    });
    assert.deepEqual(await relay.stop(), { succeeded: 1 });
    const row = await given.row("mail");
    assert.equal(
      queue.texts[0],
      JSON.stringify({ v: 1, deliveryId: row.id, claimedBy: row.claimedBy, claimedAt: row.claimedAt!.toString() }),
    );
    assert.match(row.claimedBy!, /^box-1#/);
    assert.deepEqual([row.status, row.attempts, row.lapses, row.lastError, ran], ["claimed", 0, 0, null, 0]);
    assert.deepEqual(given.logs.lines("warning", "delivery"), []);
  },

  "pitfall 143: a drain, one pass and an eager receiver hand over too, and none runs it": async (given) => {
    const queue = new Queue();
    const run = () => assert.fail("it ran here");
    const ways: Record<string, (outbox: Outbox) => Promise<unknown>> = {
      drain: (outbox) => drainOutbox(outbox),
      pass: (outbox) => deliverPending(outbox),
      "one claim": (outbox) => deliverPending(outbox, { limit: 10 }),
      eager: () => Promise.resolve(),
    };
    for (const [way, deliver] of Object.entries(ways)) {
      const receivers = [onOrder(way, run, task(way === "eager" ? { eager: true } : {}))];
      const outbox = given.outbox(receivers, { tasks: queue });
      await given.fire(outbox, order());
      assert.deepEqual(await deliver(outbox) ?? {}, {});
      assert.equal((await given.row(way)).status, "claimed");
    }
    assert.equal(queue.texts.length, 4);
    assert.equal(new Set(queue.messages.map(({ deliveryId }) => deliveryId)).size, 4);
  },

  "the task takes the row under that claim, in a commit of its own, and runs it once": async (given) => {
    const seen: unknown[] = [];
    const { outbox, message } = await handedOver(given, [
      onOrder("mail", async ({ orderId }, ctx) => {
        const [row] = await (given.database.second ?? given.storage).findDeliveries({ receiverKey: "mail" });
        seen.push(orderId, ctx.attempt, ctx.deliveryId === message.deliveryId, row!.status);
        assert.match(row!.claimedBy!, /^task-[^#]+#[0-9a-f]{8}$/);
        assert.ok(row!.claimedAt! > BigInt(message.claimedAt));
      }, task()),
    ]);
    assert.equal(await deliverTask(outbox, message), "succeeded");
    assert.deepEqual(seen, [1, 1, true, "claimed"]);
    assert.deepEqual(await given.outcomes(), ["mail succeeded 1"]);
  },

  "its transaction carries the work and the acknowledgement, and what it fires is caused by it": async (given) => {
    const Sent = event<null>("mail.sent");
    const { outbox, message } = await handedOver(given, [
      onOrder("mail", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
        await fire(ctx, Sent(null));
      }, task()),
    ], { events: [Sent] });
    assert.equal(await deliverTask(outbox, message), "succeeded");
    assert.deepEqual(await given.notes(), ["work"]);
    const [parent, child] = await given.events();
    assert.equal(child!.causationId, parent!.id);
  },

  "a task that fails is recorded, waits for its backoff, and is handed over again": async (given) => {
    const failures: DeliveryFailure[] = [];
    const mail = failing("mail", task({ maxAttempts: 2, onFailure: (failure) => failures.push(failure) }));
    const { outbox, queue, message } = await handedOver(given, [mail]);
    assert.equal(await deliverTask(outbox, message), "failed");
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError], ["failed", 1, "Error: no luck"]);
    assert.ok(row.availableAt > microseconds(later({ minutes: 4 })));
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 20 }) }), {});
    assert.equal(await deliverTask(outbox, queue.messages[1]!), "dead");
    assert.deepEqual(failures.map(({ attempt, status }) => [attempt, status]), [[1, "failed"], [2, "dead"]]);
    assert.deepEqual(given.logs.lines("warning", "delivery"), [
      `receiver mail failed delivery ${row.id} on attempt 1 with Error; the row is failed`,
      `receiver mail failed delivery ${row.id} on attempt 2 with Error; the row is dead`,
    ]);
  },

  "a deferral in a task spends no attempt and pauses no lane": async (given) => {
    const throttled = new RetryAfter({ minutes: 10 }, { counts: false });
    const { outbox, message } = await handedOver(given, [
      failing("mail", task({ giveUpAfter: { days: 1 } }), throttled),
      onOrder("other", () => {}, { due: { hours: 1 } }),
    ]);
    assert.equal(await deliverTask(outbox, message), "failed");
    assert.deepEqual((await given.row("mail")).attempts, 0);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 2 }) }), { succeeded: 1 });
  },

  "a task whose work is not due yet is pending again": async (given) => {
    const { outbox, message } = await handedOver(given, [failing("mail", task(), new NotYet(later({ hours: 1 })))]);
    assert.equal(await deliverTask(outbox, message), "pending");
    assert.deepEqual(await given.outcomes(), ["mail pending 0"]);
  },

  "pitfall 145: the lease after the hand-over is as long as the receiver's": async (given) => {
    const leaseMs = 1_800_000;
    const left: number[] = [];
    const outbox = given.outbox([onOrder("mail", () => {}, task({ lease: { milliseconds: leaseMs } }))], {
      tasks: {
        enqueue: async ({ deliveryId }) => {
          const [row] = await given.storage.findDeliveries({ deliveryId });
          left.push(Number(row!.leasedUntil! / 1000n) - Date.now());
          await takeTime(400);
        },
      },
    });
    await given.fire(outbox, order(1), order(2), order(3));
    await deliverPending(outbox);
    // Claimed together, one after the other handed over: without a renewal the last has 800 ms less.
    for (const ms of left) assert.ok(ms > leaseMs - 350 && ms <= leaseMs + 50, `${ms} ms of ${leaseMs}`);
    assert.equal(left.length, 3);
  },

  "a row that is handed over waits behind its lease's end, out of the way of claims": async (given) => {
    const { outbox, queue } = await handedOver(given, [onOrder("mail", () => {}, task({ lease: { minutes: 5 } }))]);
    const row = await given.row();
    assert.equal(row.availableAt, row.leasedUntil);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 4 }) }), {});
    assert.equal(queue.texts.length, 1);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 6 }) }), {});
    assert.equal(queue.texts.length, 2);
    assert.equal(row.dueAt, null);
  },

  "after the hand-over the relay does not renew any more, nor does a commit of its process": async (given) => {
    const queue = new Queue();
    const outbox = given.outbox([
      onOrder("mail", () => {}, task({ lease: { milliseconds: 2400 } })),
      onOrder("stock"),
    ], { tasks: queue });
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox);
    await waitFor(() => queue.texts.length === 1, { what: "the hand-over" });
    const { leasedUntil } = await given.row("mail");
    const { storage } = outbox;
    // Past a third of the lease, when renewals would have come.
    const until = performance.now() + 1100;
    while (performance.now() < until) {
      await storage.transaction((tx) => given.note(tx.client, "a commit"));
      await takeTime(50);
    }
    assert.equal((await given.row("mail")).leasedUntil, leasedUntil);
  },

  "pitfall 146: a message that comes again runs nothing": async (given) => {
    let ran = 0;
    const { outbox, message } = await handedOver(given, [onOrder("mail", () => ran++, task())]);
    assert.equal(await deliverTask(outbox, message), "succeeded");
    assert.equal(await deliverTask(outbox, message), null);
    assert.equal(ran, 1);
    assert.match(
      given.logs.lines("warning", "delivery").join(),
      /is not claimed as its message says .*: nothing is run/,
    );
  },

  "pitfall 146: nor does one that comes while the first still runs": async (given) => {
    const gate = Promise.withResolvers<void>();
    let ran = 0;
    const { outbox, message } = await handedOver(given, [
      onOrder("mail", () => {
        ran++;
        return gate.promise;
      }, task()),
    ]);
    const first = deliverTask(outbox, message);
    await waitFor(() => ran === 1, { what: "the receiver" });
    assert.equal(await deliverTask(outbox, message), null);
    gate.resolve();
    assert.equal(await first, "succeeded");
    assert.equal(ran, 1);
  },

  "pitfall 146: two copies at a time, in two processes, run once": async (given) => {
    let ran = 0;
    const mail = onOrder("mail", () => void ran++, task());
    const queue = new Queue();
    const outbox = given.outbox([mail], { tasks: queue });
    const { second = given.storage } = given.database;
    const other = given.outbox([mail], { tasks: queue, storage: second });
    await given.fire(outbox, ...upTo(20).map(order));
    await deliverPending(outbox);
    const done = await Promise.all(
      queue.messages.flatMap((message) => [deliverTask(outbox, message), deliverTask(other, message)]),
    );
    assert.equal(queue.messages.length, 20);
    assert.equal(ran, 20);
    assert.equal(done.filter((status) => status === "succeeded").length, 20);
    assert.equal(done.filter((status) => status === null).length, 20);
    assert.deepEqual(await given.outcomes(), Array(20).fill("mail succeeded 1"));
  },

  "pitfall 146: a message of a claim that lapsed and was made again runs nothing, and the new one does": async (
    given,
  ) => {
    let ran = 0;
    const { outbox, queue, message } = await handedOver(given, [onOrder("mail", () => ran++, task())]);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 10 }) }), {});
    const [, again] = queue.messages;
    assert.equal(await deliverTask(outbox, message), null);
    assert.equal(await deliverTask(outbox, { ...message, claimedBy: again!.claimedBy }), null); // an earlier one of its own
    assert.equal(ran, 0);
    assert.equal(await deliverTask(outbox, again!), "succeeded");
    assert.deepEqual([ran, (await given.row()).lapses], [1, 1]);
  },

  "pitfall 146: a message of a claim that was given back, or is another worker's, runs nothing": async (given) => {
    const run = () => assert.fail("it ran");
    const { outbox, message } = await handedOver(given, [onOrder("mail", run, task())]);
    for (const claimedBy of ["somebody else", `${message.claimedBy} `]) {
      assert.equal(await deliverTask(outbox, { ...message, claimedBy }), null);
    }
    const fence = { id: message.deliveryId, claimedBy: message.claimedBy, claimedAt: BigInt(message.claimedAt) };
    for (const claimedAt of [fence.claimedAt + 1n, fence.claimedAt - 1n]) {
      assert.equal(await deliverTask(outbox, { ...message, claimedAt: claimedAt.toString() }), null);
    }
    assert.equal((await given.row()).claimedBy, message.claimedBy);
    assert.deepEqual(await given.storage.settle([{ fence, settlement: { kind: "released" } }]), ["applied"]);
    assert.equal(await deliverTask(outbox, message), null);
    assert.deepEqual(await given.outcomes(), ["mail pending 0"]);
  },

  "a message of a delivery that is not there runs nothing": async (given) => {
    const { outbox, message } = await handedOver(given, [onOrder("mail", () => assert.fail("it ran"), task())]);
    for (const deliveryId of ["0", "9223372036854775807", `${BigInt(message.deliveryId) + 1n}`]) {
      assert.equal(await deliverTask(outbox, { ...message, deliveryId }), null);
    }
  },

  "pitfall 147, pitfall 150: half a claim, another version and foreign messages are refused, and run nothing": async (
    given,
  ) => {
    const { outbox, message } = await handedOver(given, [onOrder("mail", () => assert.fail("it ran"), task())]);
    const { claimedAt: _1, ...withoutMoment } = message;
    const { claimedBy: _2, ...withoutWorker } = message;
    const { v: _3, ...withoutVersion } = message;
    const foreign: unknown[] = [
      withoutMoment,
      withoutWorker,
      withoutVersion,
      { ...message, v: 2 },
      { ...message, v: "1" },
      { ...message, claimedAt: null },
      { ...message, claimedAt: "" },
      { ...message, claimedAt: "-1" },
      { ...message, claimedAt: Number(message.claimedAt) },
      { ...message, claimedAt: "9999999999999999999" },
      { ...message, claimedAt: new Date().toISOString() },
      { ...message, claimedBy: "" },
      { ...message, claimedBy: "a\0b" },
      { ...message, claimedBy: "\ud800" },
      { ...message, claimedBy: ["a"] },
      { ...message, deliveryId: Number(message.deliveryId) },
      { ...message, deliveryId: "1 or 1=1" },
      { ...message, deliveryId: "99999999999999999999" },
      [message],
      JSON.stringify(message),
      null,
      undefined,
      1,
    ];
    for (const one of foreign) {
      const error = await rejection(deliverTask(outbox, one as TaskMessage));
      assert.ok(error instanceof TaskRefused, `${JSON.stringify(one)}: ${error}`);
      assert.match(error.message, /^Cannot deliver a task: .*expected what a relay enqueued/);
    }
    await assert.rejects(deliverTask({} as never, message), TypeError);
    assert.equal((await given.row()).claimedBy, message.claimedBy);
  },

  "pitfall 150: what a refused message was for comes back by its lease": async (given) => {
    let ran = 0;
    const { outbox, queue, message } = await handedOver(given, [onOrder("mail", () => ran++, task())]);
    await assert.rejects(deliverTask(outbox, { ...message, v: 2 as never }), TaskRefused);
    await deliverPending(outbox, { now: later({ minutes: 10 }) });
    assert.equal(await deliverTask(outbox, queue.messages[1]!), "succeeded");
    assert.equal(ran, 1);
  },

  "pitfall 151: neither a row that was lost nor one that nobody holds is handed over": async (given) => {
    const queue = new Queue();
    const { second = given.storage } = given.database;
    const steal = async (message: TaskMessage) => {
      await queue.enqueue(message);
      if (queue.texts.length > 1) return;
      const [, lost, free] = await given.rows();
      const receivers = [{ key: "mail", leaseMs: 3_600_000 }];
      const now = microseconds(later({ minutes: 10 }));
      await second.claimOnly({ worker: "thief", receivers, only: { deliveryIds: [lost!.id] }, now });
      const fence = { id: free!.id, claimedBy: free!.claimedBy!, claimedAt: free!.claimedAt! };
      await second.settle([{ fence, settlement: { kind: "postponed", delayMs: 3_600_000 } }]);
    };
    const outbox = given.outbox([onOrder("mail", () => {}, task())], { tasks: { enqueue: steal } });
    await given.fire(outbox, ...upTo(3).map(order));
    assert.deepEqual(await deliverPending(outbox), {});
    assert.equal(queue.texts.length, 1);
    const rows = await given.rows();
    assert.deepEqual(rows.map((row) => row.claimedBy === "thief"), [false, true, false]);
    assert.deepEqual(rows.map((row) => [row.status, row.attempts]), [["claimed", 0], ["claimed", 0], ["pending", 0]]);
  },

  "a worker that died is made good by the lease": async (given) => {
    let ran = 0;
    const { outbox, queue, message } = await handedOver(given, [onOrder("mail", () => ran++, task())]);
    const taken = await given.storage.take({
      fence: { id: message.deliveryId, claimedBy: message.claimedBy, claimedAt: BigInt(message.claimedAt) },
      worker: "dies",
      leaseMs: 60_000,
    });
    assert.equal(taken?.fence.claimedBy, "dies");
    assert.deepEqual(await deliverPending(outbox), {});
    assert.equal(queue.texts.length, 1);
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 5 }) }), {});
    assert.equal(queue.texts.length, 2);
    assert.equal(await deliverTask(outbox, message), null); // redelivered by the queue
    assert.equal(await deliverTask(outbox, queue.messages[1]!), "succeeded");
    assert.deepEqual([ran, (await given.row()).lapses, (await given.row()).attempts], [1, 1, 1]);
  },

  "a task that takes longer than its lease keeps its row": async (given) => {
    let ran = 0;
    const { outbox, queue, message } = await handedOver(given, [
      onOrder("mail", async () => {
        ran++;
        await takeTime(1000);
      }, task({ lease: { milliseconds: 400 } })),
    ]);
    const working = deliverTask(outbox, message);
    await waitFor(() => ran === 1, { what: "the receiver" });
    const until = performance.now() + 700;
    while (performance.now() < until) {
      assert.deepEqual(await deliverPending(outbox), {});
      await takeTime(50);
    }
    assert.equal(await working, "succeeded");
    assert.deepEqual([ran, queue.texts.length], [1, 1]);
  },

  "a backend that takes nothing has the row given back, to be handed over again a little later": async (given) => {
    let refusals = 2;
    const queue = new Queue();
    const backoff = { base: { seconds: 40 }, cap: { seconds: 40 } };
    const outbox = given.outbox([onOrder("mail", () => assert.fail("it ran here"), task({ backoff })), onOrder("b")], {
      tasks: {
        enqueue: (message) => {
          if (refusals-- === 2) throw new RangeError("secret");
          return refusals === 0 ? Promise.reject(new RangeError("secret")) : queue.enqueue(message);
        },
      },
    });
    await given.fire(outbox, order());
    const now = later({ minutes: 1 });
    for (const minutes of [1, 2]) {
      await deliverPending(outbox, { now: later({ minutes }) });
      const row = await given.row("mail");
      assert.deepEqual([row.status, row.attempts, row.lastError], ["pending", 0, null]);
      const waitMs = Number(row.availableAt / 1000n) - now.getTime() - (minutes - 1) * 60_000;
      assert.ok(Math.abs(waitMs - 40_000) < 5000, `${waitMs} ms`);
    }
    assert.equal(queue.texts.length, 0);
    await deliverPending(outbox, { now: later({ minutes: 3 }) });
    assert.equal(queue.texts.length, 1);
    const { id } = await given.row("mail");
    const line = `could not hand delivery ${id} of receiver mail to the task backend (RangeError); trying again`;
    assert.deepEqual(given.logs.lines("warning", "delivery"), [line, line]);
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "a backend that does not answer is ended at the lease, whether it minds its signal or not": async (given) => {
    const signals: AbortSignal[] = [];
    const outbox = given.outbox([onOrder("mail", () => {}, task({ lease: { milliseconds: 150 } }))], {
      tasks: {
        enqueue: (_, { signal }) => {
          signals.push(signal);
          return new Promise(() => {});
        },
      },
    });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.equal(signals[0]!.aborted, true);
    assert.equal((await given.row()).status, "pending");
    assert.equal(given.logs.lines("warning", "delivery").length, 1);
  },

  "one that answers only when the task is done holds nobody up once the row was taken": async (given) => {
    const gate = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const receivers = [
      onOrder("mail", () => {
        started.resolve();
        return gate.promise;
      }, task({ lease: { milliseconds: 600 } })),
    ];
    const worker = given.outbox(receivers, {
      storage: given.database.second ?? given.storage,
      tasks: new Queue(),
    });
    let working: Promise<unknown> | undefined;
    let ended: AbortSignal | undefined;
    const outbox = given.outbox(receivers, {
      tasks: {
        enqueue: async (message, { signal }) => {
          ended = signal;
          working = deliverTask(worker, message);
          await working;
        },
      },
    });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {}); // although the receiver has not returned
    await started.promise;
    assert.equal(ended!.aborted, false);
    gate.resolve();
    assert.equal(await working, "succeeded");
    assert.deepEqual(await given.outcomes(), ["mail succeeded 1"]);
    assert.deepEqual(given.logs.lines("warning", "delivery"), []);
  },

  "past the grace of a relay a hand-over that is under way is ended, and the row given back": async (given) => {
    let signal: AbortSignal | undefined;
    const outbox = given.outbox([onOrder("mail", () => {}, task())], {
      tasks: {
        enqueue: (_, options) => {
          signal = options.signal;
          return new Promise(() => {});
        },
      },
    });
    await given.fire(outbox, order());
    const relay = await given.relay(outbox, { grace: { milliseconds: 50 } });
    await waitFor(() => signal, { what: "the hand-over" });
    assert.deepEqual(await relay.stop(), {});
    assert.equal(signal!.aborted, true);
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lapses, row.leasedUntil], ["pending", 0, 0, null]);
  },

  "a relay that is past its grace sends nothing any more": async (given) => {
    const queue = new Queue();
    const gate = Promise.withResolvers<void>();
    let renewing = false;
    const storage = given.changed({
      renew: async (...asked) => {
        renewing = true;
        await gate.promise;
        return await given.storage.renew(...asked);
      },
    });
    const outbox = given.outbox([onOrder("mail", () => {}, task())], { storage, tasks: queue });
    await given.fire(outbox, order());
    const relay = await given.relay(outbox, { grace: { milliseconds: 20 } });
    await waitFor(() => renewing, { what: "the hand-over" });
    const stopped = relay.stop();
    await waitFor(() => given.logs.lines("warning", "relay").some((line) => line.includes("end of the grace")), {
      what: "the end of the grace",
    });
    gate.resolve();
    assert.deepEqual(await stopped, {});
    assert.deepEqual([queue.texts, (await given.row()).status], [[], "pending"]);
  },

  "what a relay gives back after an outage does not reach what it has handed over": async (given) => {
    let down = false;
    let released = 0;
    const queue = new Queue();
    const storage = given.changed({
      claim: (...request) => down ? Promise.reject(new Error("down")) : given.storage.claim(...request),
      releaseUnknown: async (...asked) => {
        const count = await given.storage.releaseUnknown(...asked);
        released++;
        return count;
      },
    });
    const outbox = given.outbox([onOrder("mail", () => {}, task())], {
      storage,
      tasks: queue,
      settings: { poll: { milliseconds: 20 } },
    });
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox);
    await waitFor(() => queue.texts.length === 1, { what: "the hand-over" });
    down = true;
    await waitFor(() => given.logs.lines("warning", "relay").some((line) => line.startsWith("could not claim")), {
      what: "the outage",
    });
    down = false;
    await waitFor(() => released === 1, { what: "the end of the outage" });
    assert.equal((await given.row()).status, "claimed");
    assert.equal(await deliverTask(outbox, queue.messages[0]!), "succeeded");
  },

  "nor does a stop": async (given) => {
    const queue = new Queue();
    const outbox = given.outbox([onOrder("mail", () => {}, task())], { tasks: queue });
    await given.fire(outbox, order());
    const relay = await given.relay(outbox);
    await waitFor(() => queue.texts.length === 1, { what: "the hand-over" });
    await relay.stop();
    assert.equal((await given.row()).status, "claimed");
    assert.equal(await deliverTask(outbox, queue.messages[0]!), "succeeded");
  },

  "nor does the pause of its lane": async (given) => {
    const queue = new Queue();
    const throttled = new RetryAfter({ hours: 1 }, { counts: false });
    const outbox = given.outbox([
      onOrder("task", () => {}, task()),
      failing("throttled", { giveUpAfter: { days: 1 } }, throttled),
    ], { tasks: queue });
    await given.fire(outbox, order(1), order(2));
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    const rows = await given.rows();
    const statuses = rows.map(({ receiverKey, status }) => `${receiverKey} ${status}`);
    assert.deepEqual(statuses, ["task claimed", "throttled failed", "task pending", "throttled pending"]);
    assert.equal(await deliverTask(outbox, queue.messages[0]!), "succeeded");
  },

  "deliverOne runs it here, whatever its site": async (given) => {
    let ran = 0;
    const queue = new Queue();
    const outbox = given.outbox([onOrder("mail", () => ran++, task())], { tasks: queue });
    await given.fire(outbox, order());
    assert.equal(await deliverOne(outbox, (await given.row()).id), "succeeded");
    assert.deepEqual([ran, queue.texts.length], [1, 0]);
  },

  "in a caller's transaction nothing is handed over: no worker could see the claim": async (given) => {
    const queue = new Queue();
    const outbox = given.outbox([onOrder("mail", () => assert.fail("it ran"), task()), onOrder("stock")], {
      tasks: queue,
    });
    await outbox.transaction(async (tx) => {
      await fire(tx, order());
      assert.deepEqual(await deliverPending(tx), { succeeded: 1 });
    });
    assert.deepEqual(queue.texts, []);
    assert.deepEqual(await given.outcomes(), ["mail pending 0", "stock succeeded 1"]);
    assert.deepEqual(given.logs.lines("warning", "delivery"), []);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), {});
    assert.equal(queue.texts.length, 1);
  },

  "pitfall 149: a worker that does not list the receiver says so, and leaves the row to its lease": async (given) => {
    const { message } = await handedOver(given, [onOrder("mail", () => {}, task())]);
    const forgetful = given.outbox([onOrder("stock")]);
    const before = await given.row();
    assert.equal(await deliverTask(forgetful, message), null);
    assert.deepEqual(await given.row(), before);
    assert.deepEqual(given.logs.lines("error"), [
      `this worker does not list receiver mail of delivery ${before.id}: nothing is run`,
    ]);
  },

  "a database that does not answer is the queue's to hear of": async (given) => {
    const { message } = await handedOver(given, [onOrder("mail", () => {}, task())]);
    const down = new Error("down");
    const mail = [onOrder("mail", () => assert.fail("it ran"), task())];
    const outbox = given.outbox(mail, {
      storage: given.changed({ take: () => Promise.reject(down) }),
      tasks: new Queue(),
    });
    assert.equal(await rejection(deliverTask(outbox, message)), down);
    assert.equal((await given.row()).claimedBy, message.claimedBy);
  },

  "a signal that has aborted takes nothing": async (given) => {
    const { outbox, message } = await handedOver(given, [onOrder("mail", () => assert.fail("it ran"), task())]);
    const reason = new Error("stopping");
    assert.equal(await rejection(deliverTask(outbox, message, { signal: AbortSignal.abort(reason) })), reason);
    assert.equal((await given.row()).claimedBy, message.claimedBy);
  },

  "the name that a worker is given stands on its row": async (given) => {
    const names: (string | null)[] = [];
    const { outbox, message } = await handedOver(given, [
      onOrder("mail", async () => names.push((await given.row()).claimedBy), task()),
    ]);
    await deliverTask(outbox, message, { workerId: "lambda-7" });
    assert.match(names[0]!, /^lambda-7#[0-9a-f]{8}$/);
  },

  "without a backend it is refused when the outbox is built, by name": (given) => {
    const listed = [onOrder("stock"), onOrder("mail", () => {}, task())];
    assert.throws(
      () => createOutbox({ storage: given.storage, receivers: listed }),
      /receiver "mail" has site "task", and no task backend is given in tasks/,
    );
    for (const tasks of [null, {}, { enqueue: "yes" }, "queue"]) {
      assert.throws(
        () => createOutbox({ storage: given.storage, receivers: listed, tasks: tasks as never }),
        /tasks must have a method enqueue/,
      );
    }
    for (const mode of ["inline", "on-commit"] as const) {
      assert.throws(() => onOrder("mail", () => {}, { mode, site: "task" }), /site needs a row/);
    }
    assert.throws(() => onOrder("mail", () => {}, { site: "queue" as never }), /site must be "relay" or "task"/);
    return given.nothing();
  },
};
