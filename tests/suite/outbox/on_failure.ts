import assert from "node:assert/strict";
import { z } from "zod";
import {
  anyEvent,
  deliverOne,
  deliverPending,
  type DeliveryFailure,
  drainOutbox,
  event,
  NotYet,
  PermanentFailure,
  receiver,
  type ReceiverOptions,
  RetryAfter,
} from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, later } from "./given.ts";
import { failing, onOrder, order, OrderPlaced } from "./samples.ts";

/** Options that note what onFailure is told. */
function told(more: ReceiverOptions = {}): { failures: DeliveryFailure[]; options: ReceiverOptions } {
  const failures: DeliveryFailure[] = [];
  return { failures, options: { ...more, onFailure: (failure) => failures.push(failure) } };
}

const brief = ({ attempt, status }: DeliveryFailure) => `${attempt} ${status}`;

export const onFailureCases: Cases = {
  "pitfall 75: what a receiver wrote goes with its failure, and what onFailure writes stays": async (given) => {
    const outbox = given.outbox([
      onOrder("mail", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "by the receiver");
        throw new Error("no luck");
      }, {
        maxAttempts: 2,
        onFailure: ({ attempt }) => outbox.transaction((tx) => given.note(tx.client, `attempt ${attempt} failed`)),
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { failed: 1, dead: 1 });
    assert.deepEqual(await given.notes(), ["attempt 1 failed", "attempt 2 failed"]);
  },

  "it is told of each failure and of the death, in values": async (given) => {
    const { failures, options } = told({ maxAttempts: 2 });
    const outbox = given.outbox([failing("mail", options, new RangeError("mailbox full"))]);
    const [eventId] = await given.fire(outbox, order());
    await deliverPending(outbox);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    await deliverPending(outbox, { now: later({ hours: 2 }) });
    const { id: deliveryId } = await given.row();
    const same = { deliveryId, eventId, eventName: "orders.placed", receiverKey: "mail", target: "" };
    assert.deepEqual(failures, [
      { ...same, attempt: 1, status: "failed", error: "RangeError: mailbox full" },
      { ...same, attempt: 2, status: "dead", error: "RangeError: mailbox full" },
    ]);
  },

  "the row is as it says when it is told": async (given) => {
    const seen: Record<string, unknown> = {};
    const look = async ({ deliveryId, receiverKey, error }: DeliveryFailure) => {
      const [row] = await given.storage.findDeliveries({ deliveryId });
      seen[receiverKey] = [row!.status, row!.attempts, row!.leasedUntil, row!.lastError === error];
    };
    const outbox = given.outbox([
      failing("plain", { onFailure: look }),
      onOrder("in its transaction", async (_, ctx) => {
        await ctx.transaction();
        throw new Error("no luck");
      }, { onFailure: look, maxAttempts: 1 }),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(seen, { plain: ["failed", 1, null, true], "in its transaction": ["dead", 1, null, true] });
  },

  "a fan-out's names its target": async (given) => {
    const { failures, options } = told({ targets: () => ["a", "b", "c"] });
    const outbox = given.outbox([
      onOrder("partner", (_, ctx) => {
        if (ctx.target === "b") throw new Error("no luck");
      }, options),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(failures.map(({ target, attempt }) => [target, attempt]), [["b", 1]]);
  },

  "a failure for good is told as dead": async (given) => {
    const { failures, options } = told();
    await given.fire(given.outbox([failing("mail", options, new PermanentFailure("410"))]), order());
    await deliverPending(given.outbox([failing("mail", options, new PermanentFailure("410"))]));
    assert.deepEqual(failures.map(({ attempt, status, error }) => [attempt, status, error]), [
      [1, "dead", "PermanentFailure: 410"],
    ]);
  },

  "a deferral is told with the number that comes again": async (given) => {
    const { failures, options } = told({ giveUpAfter: { days: 2 }, maxAttempts: 1 });
    const throttled = new RetryAfter({ seconds: 60 }, { counts: false, reason: "throttled" });
    const outbox = given.outbox([failing("mail", options, throttled)]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    assert.deepEqual(failures.map(brief), ["1 failed", "1 failed"]);
    assert.equal(failures[0]!.error, "RetryAfter: throttled");
  },

  "the end of a deferral is told as dead, with the error as it is stored": async (given) => {
    const { failures, options } = told({ giveUpAfter: { minutes: 30 } });
    const throttled = new RetryAfter({ seconds: 60 }, { counts: false, reason: "throttled" });
    const outbox = given.outbox([failing("mail", options, throttled)]);
    await given.fire(outbox, order());
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    assert.deepEqual(failures.map(brief), ["1 dead"]);
    assert.equal(failures[0]!.error, (await given.row()).lastError);
    assert.match(failures[0]!.error, /giveUpAfter.*throttled/);
  },

  "it is not told of a success, nor of what is not due yet": async (given) => {
    const { failures, options } = told();
    const outbox = given.outbox([onOrder("stock", () => {}, options), failing("expire", options, notYet())]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1, pending: 1 });
    assert.deepEqual(failures, []);
  },

  "it is not told of a row that cannot be decoded, nor of an orphan": async (given) => {
    const { failures, options } = told();
    const before = given.outbox([onOrder("mail", () => {}, options), onOrder("gone", () => {}, options)]);
    await given.fire(before, order());
    const Stricter = event("orders.placed", { schema: z.object({ orderId: z.string() }) });
    const outbox = given.outbox([receiver(Stricter, "mail", () => {}, options)]);
    assert.deepEqual(await drainOutbox(outbox), { dead: 1, orphaned: 1 });
    assert.deepEqual(failures, []);
  },

  "it is told of a timeout, and not of a row that is another release's to run": async (given) => {
    const { failures, options } = told({ timeout: { milliseconds: 40 } });
    const hangs = () => new Promise<never>(() => {});
    const all = receiver(anyEvent, "audit", () => {}, options);
    const listed = [all, onOrder("slow", hangs, options)];
    await given.fire(given.outbox(listed), order());
    await deliverPending(given.outbox([listed[1]!]));
    await deliverPending(given.outbox([all]));
    assert.deepEqual(failures.map(({ receiverKey, error }) => [receiverKey, error.split(" ")[0]]), [
      ["slow", "ReceiverTimeout:"],
    ]);
  },

  "it is told of a row that lapsed too often": async (given) => {
    const { failures, options } = told();
    const outbox = given.outbox([onOrder("stock", () => {}, options)], { settings: { maxLapses: 1 } });
    await given.fire(outbox, order());
    const receivers = [{ key: "stock", leaseMs: 60_000 }];
    for (const minutes of [1, 3]) {
      const now = BigInt(later({ minutes }).getTime()) * 1000n;
      await given.storage.claim({ worker: "crashes", receivers, limit: 1, now });
    }
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 5 }) }), { dead: 1 });
    assert.deepEqual(failures.map(brief), ["1 dead"]);
    assert.equal(failures[0]!.error, (await given.row()).lastError);
  },

  "pitfall 77: one that throws is logged and swallowed, and the row stays as it was recorded": async (given) => {
    const throws: (() => unknown)[] = [
      () => {
        throw new TypeError("secret");
      },
      () => Promise.reject(new TypeError("secret")),
    ];
    const outbox = given.outbox([
      ...throws.map((onFailure, i) => failing(`mail ${i}`, { maxAttempts: 1, onFailure })),
      onOrder("next"),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 2, succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["mail 0 dead 1", "mail 1 dead 1", "next succeeded 1"]);
    assert.deepEqual(given.logs.lines("error"), [
      "onFailure of receiver mail 0 failed with TypeError; the row is as it is",
      "onFailure of receiver mail 1 failed with TypeError; the row is as it is",
    ]);
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "pitfall 77: a relay survives it": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("mail", ({ orderId }) => {
        ran.push(orderId);
        if (orderId === 1) throw new Error("no luck");
      }, {
        maxAttempts: 1,
        onFailure: () => {
          throw new Error("nor here");
        },
      }),
    ]);
    await using relay = await given.relay(outbox);
    await given.fire(outbox, order(1));
    await waitFor(async () => (await given.row()).status === "dead", { what: "the failure" });
    await given.fire(outbox, order(2));
    await waitFor(() => ran.length === 2, { what: "the next delivery" });
    assert.deepEqual(await relay.stop(), { dead: 1, succeeded: 1 });
  },

  "one that hangs is left behind after the time of an attempt": async (given) => {
    const outbox = given.outbox([
      failing("mail", { timeout: { milliseconds: 50 }, onFailure: () => new Promise(() => {}) }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(given.logs.lines("error"), [
      "onFailure of receiver mail still runs after 50 ms; it is left behind",
    ]);
  },

  "a worker that lost its claim does not call it": async (given) => {
    const { failures, options } = told();
    const outbox = given.outbox([
      onOrder("stock", async () => {
        await given.steal("stock");
        throw new Error("no luck");
      }, options),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(failures, []);
  },

  "pitfall 101: an attempt whose connection was lost is not told": async (given) => {
    const { failures, options } = told();
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await ctx.transaction();
        throw new Error("no luck");
      }, options),
    ], { storage: losing(given) });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(failures, []);
    assert.equal((await given.row()).attempts, 0);
  },

  "an outcome that has to be sent twice is told once": async (given) => {
    const { failures, options } = told();
    let lost = false;
    const storage = given.changed({
      settle: async (...settling) => {
        const answers = await given.storage.settle(...settling);
        if (!lost) {
          lost = true;
          throw new Error("the answer was lost");
        }
        return answers;
      },
    });
    const outbox = given.outbox([failing("mail", options)], { storage });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(failures.map(brief), ["1 failed"]);
  },

  "an eager attempt tells it before the commit's call is over, and a single one too": async (given) => {
    const { failures, options } = told({ eager: true });
    const outbox = given.outbox([failing("notify", options)]);
    await given.fire(outbox, order());
    assert.deepEqual(failures.map(brief), ["1 failed"]);
    const single = given.outbox([failing("single", options)]);
    await given.fire(given.outbox([onOrder("single")]), order());
    assert.equal(await deliverOne(single, (await given.row("single")).id), "failed");
    assert.deepEqual(failures.map(({ receiverKey }) => receiverKey), ["notify", "single"]);
  },

  "it is the one that is declared when the attempt fails": async (given) => {
    const { failures, options } = told();
    await given.fire(given.outbox([failing("mail")]), order());
    await deliverPending(given.outbox([failing("mail", options)]));
    assert.deepEqual(failures.map(brief), ["1 failed"]);
  },

  "inline and on-commit receivers have none": (given) => {
    for (const mode of ["inline", "on-commit"] as const) {
      assert.throws(() => receiver(OrderPlaced, "x", () => {}, { mode, onFailure: () => {} }), /onFailure needs a row/);
    }
    assert.throws(() => receiver(OrderPlaced, "x", () => {}, { onFailure: "log" as never }), /must be a function/);
    return given.nothing();
  },
};

/** A storage whose connections are lost at the end of each receiver's transaction. */
function losing(given: Given) {
  return given.changed({
    acknowledge: async (...asked) => {
      const opened = await given.storage.acknowledge(...asked);
      return opened && {
        tx: opened.tx,
        abandon: () => opened.abandon(),
        finish: async () => {
          await opened.abandon();
          throw new Error("the connection was lost");
        },
      };
    },
  });
}

function notYet(): NotYet {
  return new NotYet(later({ hours: 1 }));
}
