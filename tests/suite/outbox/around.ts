import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { configure } from "@logtape/logtape";
import { z } from "zod";
import {
  type AroundDelivery,
  composeAround,
  deliverOne,
  deliverPending,
  deliverTask,
  drainOutbox,
  event,
  fire,
  LeaseLost,
  NotYet,
  PermanentFailure,
  receiver,
  ReceiverTimeout,
  RelayStopped,
  RetryAfter,
  type TaskMessage,
} from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

const forEver = () => new Promise<never>(() => {});
const short = { lease: { milliseconds: 300 } };

/** A hook that notes for which receivers it was entered, and with what each `next` settled. */
function noting(): { seen: string[]; thrown: unknown[]; hook: AroundDelivery } {
  const seen: string[] = [];
  const thrown: unknown[] = [];
  const hook: AroundDelivery = async (ctx, next) => {
    seen.push(ctx.receiverKey);
    try {
      await next();
    } catch (error) {
      thrown.push(error);
      throw error;
    }
  };
  return { seen, thrown, hook };
}

/** Fires one order to these receivers and delivers it inside of the hook. */
async function deliver(given: Given, hook: AroundDelivery, ...receivers: Parameters<Given["outbox"]>[0]) {
  const outbox = given.outbox(receivers, { aroundDelivery: hook });
  await given.fire(outbox, order());
  return await deliverPending(outbox);
}

export const aroundCases: Cases = {
  "the receiver runs inside, and the outcome is recorded before next settles": async (given) => {
    const steps: unknown[] = [];
    const hook: AroundDelivery = async (ctx, next) => {
      steps.push(["enter", ctx.receiverKey, ctx.attempt, (await given.row()).status]);
      await next();
      steps.push(["leave", (await given.row()).status, (await given.row()).attempts]);
    };
    assert.deepEqual(await deliver(given, hook, onOrder("stock", () => void steps.push("run"))), { succeeded: 1 });
    assert.deepEqual(steps, [["enter", "stock", 1, "claimed"], "run", ["leave", "succeeded", 1]]);
  },

  "the work of the receiver's transaction is committed when next settles": async (given) => {
    const seen: unknown[] = [];
    const hook: AroundDelivery = async (_, next) => {
      await next();
      seen.push(...await given.notes());
    };
    await deliver(
      given,
      hook,
      onOrder("stock", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "work");
      }),
    );
    assert.deepEqual(seen, ["work"]);
  },

  "it is handed the context of the attempt, and not the receiver": async (given) => {
    const told: Record<string, unknown>[] = [];
    const hook: AroundDelivery = (ctx, next) => {
      const { eventId, eventName, deliveryId, receiverKey, target, attempt, maxAttempts } = ctx;
      told.push({ eventId, eventName, deliveryId, receiverKey, target, attempt, maxAttempts });
      return next();
    };
    const outbox = given.outbox([onOrder("partner", () => {}, { targets: () => ["a"] })], { aroundDelivery: hook });
    const [eventId] = await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.deepEqual(told, [{
      eventId,
      eventName: "orders.placed",
      deliveryId: (await given.row()).id,
      receiverKey: "partner",
      target: "a",
      attempt: 1,
      maxAttempts: 5,
    }]);
  },

  "next rejects with the receiver's own error, the same object": async (given) => {
    const errors = [new RangeError("async"), new RangeError("sync"), "a text"];
    const { thrown, hook } = noting();
    const counts = await deliver(
      given,
      hook,
      onOrder("a", () => Promise.reject(errors[0])),
      failing("b", {}, errors[1]),
      failing("c", {}, errors[2]),
    );
    assert.deepEqual(counts, { failed: 3 });
    assert.equal(thrown.length, 3);
    for (const [i, error] of errors.entries()) assert.equal(thrown[i], error);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "catching it changes nothing": async (given) => {
    const hook: AroundDelivery = async (_, next) => {
      await next().catch(() => {});
    };
    assert.deepEqual(await deliver(given, hook, failing("mail")), { failed: 1 });
    assert.deepEqual([(await given.row()).status, (await given.row()).lastError], ["failed", "Error: no luck"]);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "throwing after it is logged at ERROR, once, and changes nothing": async (given) => {
    const hook: AroundDelivery = async (_, next) => {
      await next().catch(() => {});
      throw new TypeError("secret");
    };
    assert.deepEqual(await deliver(given, hook, onOrder("stock"), failing("mail")), { succeeded: 1, failed: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", "mail failed 1"]);
    const ids = (await given.rows()).map((row) => row.id);
    assert.deepEqual(
      given.logs.lines("error"),
      ids.map((id) => `aroundDelivery failed after delivery ${id} was recorded with TypeError; its outcome stands`),
    );
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "throwing before it fails the attempt as the receiver would, which does not run": async (given) => {
    let ran = 0;
    const failures: string[] = [];
    const hook = () => Promise.reject(new RangeError("no tenant"));
    const counts = await deliver(
      given,
      hook,
      onOrder("mail", () => ran++, { onFailure: ({ status, error }) => failures.push(`${status} ${error}`) }),
    );
    assert.deepEqual([counts, ran], [{ failed: 1 }, 0]);
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError], ["failed", 1, "RangeError: no tenant"]);
    assert.deepEqual(failures, ["failed RangeError: no tenant"]);
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver mail failed delivery ${row.id} on attempt 1 with RangeError; the row is failed`,
    ]);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "a hook that throws at once, and no promise, fails it too": async (given) => {
    const hook = () => {
      throw new RangeError("no tenant");
    };
    assert.deepEqual(await deliver(given, hook, failing("mail", { maxAttempts: 1 })), { dead: 1 });
    assert.equal((await given.row()).lastError, "RangeError: no tenant");
  },

  "what it throws before keeps its meaning": async (given) => {
    const until = later({ hours: 3 });
    const by: Record<string, Error> = {
      permanent: new PermanentFailure("gone"),
      later: new RetryAfter({ seconds: 120 }),
      "not yet": new NotYet(until),
      throttled: new RetryAfter({ seconds: 60 }, { counts: false }),
    };
    const hook: AroundDelivery = (ctx) => Promise.reject(by[ctx.receiverKey]);
    const run = () => assert.fail("it ran");
    const now = later({ minutes: 1 });
    const outbox = given.outbox(
      Object.keys(by).map((key) => onOrder(key, run, { giveUpAfter: { days: 1 }, lane: key })),
      { aroundDelivery: hook },
    );
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { now }), { dead: 1, failed: 2, pending: 1 });
    const [permanent, after, notYet, throttled] = await given.rows();
    assert.deepEqual([permanent!.status, permanent!.attempts], ["dead", 1]);
    const waits = [after!, throttled!].map((row) => Number(row.availableAt / 1000n) - now.getTime());
    assert.deepEqual([after!.attempts, throttled!.attempts, ...waits], [1, 0, 120_000, 90_000]);
    assert.deepEqual([notYet!.attempts, notYet!.dueAt], [0, BigInt(until.getTime()) * 1000n]);
    assert.equal(notYet!.lastError, null);
  },

  "never calling next fails the attempt": async (given) => {
    let ran = 0;
    assert.deepEqual(await deliver(given, () => {}, onOrder("mail", () => ran++)), { failed: 1 });
    assert.equal(ran, 0);
    assert.equal((await given.row()).lastError, "Error: aroundDelivery returned without calling next()");
  },

  "calling it twice is refused, and the receiver runs once": async (given) => {
    let ran = 0;
    let refused: unknown;
    const hook: AroundDelivery = async (_, next) => {
      await next();
      refused = await rejection(next());
    };
    assert.deepEqual(await deliver(given, hook, onOrder("mail", () => ran++)), { succeeded: 1 });
    assert.equal(ran, 1);
    assert.ok(refused instanceof TypeError);
    assert.match(refused.message, /aroundDelivery calls next\(\) once/);
    assert.deepEqual(await given.outcomes(), ["mail succeeded 1"]);
  },

  "twice at a time is refused too": async (given) => {
    let ran = 0;
    const hook: AroundDelivery = async (_, next) => {
      await Promise.all([next(), next()]);
    };
    assert.deepEqual(await deliver(given, hook, onOrder("mail", () => ran++)), { succeeded: 1 });
    assert.equal(ran, 1);
    assert.match(given.logs.lines("error").join(), /failed after delivery \d+ was recorded with TypeError/);
  },

  "a hook that does not await next is waited for, and its rejection is nobody's": async (given) => {
    const hook: AroundDelivery = (_, next) => void next();
    const counts = await deliver(given, hook, onOrder("a", () => given.rows()), onOrder("b", () => Promise.reject(1)));
    assert.deepEqual(counts, { succeeded: 1, failed: 1 });
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "a hook that throws while the receiver runs has thrown afterwards": async (given) => {
    const hook: AroundDelivery = (_, next) => {
      void next();
      throw new TypeError("impatient");
    };
    assert.deepEqual(await deliver(given, hook, onOrder("a", () => given.rows())), { succeeded: 1 });
    assert.equal(given.logs.lines("error").length, 1);
  },

  "what it writes is not undone with the receiver's work": async (given) => {
    const outbox = given.outbox([
      onOrder("mail", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "by the receiver");
        throw new Error("no luck");
      }),
    ], {
      aroundDelivery: async (_, next) => {
        await outbox.transaction((tx) => given.note(tx.client, "before"));
        try {
          await next();
        } finally {
          await outbox.transaction((tx) => given.note(tx.client, "after"));
        }
      },
    });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), ["after", "before"]);
  },

  "what it puts around next is there in the receiver, in onFailure and on the log's line": async (given) => {
    const place = new AsyncLocalStorage<string>();
    const seen: unknown[] = [];
    await configure({
      sinks: { here: ({ level }) => void (level === "warning" && seen.push(["log", place.getStore()])) },
      loggers: [
        { category: "owed", sinks: ["here"] },
        { category: ["logtape", "meta"], sinks: [], lowestLevel: "fatal" },
      ],
      reset: true,
    });
    const hook: AroundDelivery = (ctx, next) => place.run(`delivery of ${ctx.receiverKey}`, next);
    const note = (where: string) => seen.push([where, place.getStore()]);
    const outbox = given.outbox(
      ["a", "b"].map((key) =>
        onOrder(key, async (_, ctx) => {
          note("run");
          if (key === "b") await ctx.transaction();
          await Promise.resolve();
          note("later");
          throw new Error("no luck");
        }, { onFailure: () => note("onFailure") })
      ),
      { aroundDelivery: hook },
    );
    await given.fire(outbox, order());
    // Together, so that their acknowledgements travel in one group.
    assert.deepEqual(await deliverPending(outbox, { concurrency: 2 }), { failed: 2 });
    for (const key of ["a", "b"]) {
      const at = `delivery of ${key}`;
      assert.deepEqual(seen.filter((one) => (one as unknown[])[1] === at), [
        ["run", at],
        ["later", at],
        ["log", at],
        ["onFailure", at],
      ]);
    }
    assert.equal(seen.length, 8);
    assert.equal(place.getStore(), undefined);
  },

  "pitfall 97: each attempt is wrapped once, wherever it runs": async (given) => {
    const { seen, hook } = noting();
    const sent: TaskMessage[] = [];
    const outbox = given.outbox([
      onOrder("eager", () => {}, { eager: true, lane: "eager" }),
      onOrder("one", () => {}, { lane: "one" }),
      onOrder("pending", () => {}, { lane: "pending" }),
      onOrder("relay", () => {}, { lane: "relay" }),
      onOrder("task", () => {}, { site: "task", lane: "task" }),
      failing("drain", { maxAttempts: 2 }),
    ], { aroundDelivery: hook, tasks: { enqueue: (message) => Promise.resolve(void sent.push(message)) } });
    await given.fire(outbox, order());
    assert.deepEqual(seen.splice(0), ["eager"]);
    await deliverOne(outbox, (await given.row("one")).id);
    assert.deepEqual(seen.splice(0), ["one"]);
    await deliverPending(outbox, { lane: "pending" });
    assert.deepEqual(seen.splice(0), ["pending"]);
    const relay = await given.relay(outbox, { lane: "relay" });
    await waitFor(async () => (await given.row("relay")).status === "succeeded", { what: "the relay" });
    await relay.stop();
    assert.deepEqual(seen.splice(0), ["relay"]);
    await deliverPending(outbox, { lane: "task" });
    assert.deepEqual(seen.splice(0), []);
    await deliverTask(outbox, sent[0]!);
    assert.deepEqual(seen.splice(0), ["task"]);
    assert.equal(await deliverTask(outbox, sent[0]!), null);
    assert.deepEqual(seen.splice(0), []);
    assert.deepEqual(await drainOutbox(outbox), { failed: 1, dead: 1 });
    assert.deepEqual(seen, ["drain", "drain"]);
  },

  "inline and on-commit receivers are never wrapped": async (given) => {
    const { seen, hook } = noting();
    const ran: string[] = [];
    const outbox = given.outbox([
      onOrder("inline", () => ran.push("inline"), { mode: "inline" }),
      onOrder("on-commit", () => ran.push("on-commit"), { mode: "on-commit" }),
    ], { aroundDelivery: hook });
    await given.fire(outbox, order());
    assert.deepEqual([ran, seen], [["inline", "on-commit"], []]);
  },

  "pitfall 97: a row that does not reach its receiver is not wrapped": async (given) => {
    const { seen, hook } = noting();
    const Other = event<null>("other.happened");
    await given.fire(given.outbox([onOrder("mail"), onOrder("gone"), onOrder("moved")]), order());
    const Stricter = event("orders.placed", { schema: z.object({ orderId: z.string() }) });
    const listed = [receiver(Stricter, "mail", () => {}), receiver(Other, "moved", () => {})];
    const outbox = given.outbox(listed, { aroundDelivery: hook });
    assert.deepEqual(await drainOutbox(outbox), { dead: 2, orphaned: 1 });
    const undeclared = given.outbox([listed[1]!], { aroundDelivery: hook });
    await given.fire(given.outbox([onOrder("moved")]), order());
    assert.deepEqual(await deliverPending(undeclared), {});
    const ids = (await given.rows()).map((row) => row.id);
    for (const id of ids) assert.equal(await deliverOne(outbox, id), null); // settled, or not due
    assert.deepEqual(seen, []);
  },

  "a row that was taken before it started is not wrapped": async (given) => {
    const { seen, hook } = noting();
    const thief = given.database.second ?? given.storage;
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }) => {
        if (orderId > 1) return;
        const all = { worker: "thief", receivers: [{ key: "stock", leaseMs: 3_600_000 }], limit: 2 };
        await thief.claim({ ...all, now: BigInt(later({ minutes: 10 }).getTime()) * 1000n });
        await waitFor(async () => (await given.rows())[1]!.claimedBy === "thief", { what: "the theft" });
        const blocked = performance.now() + 300;
        while (performance.now() < blocked); // no timer renews meanwhile
      }, short),
    ], { aroundDelivery: hook });
    await given.fire(outbox, order(1), order(2), order(3));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(seen, ["stock", "stock"]); // the first, and the third, which nobody took
  },

  "a hook that hangs before next is ended by the timeout, and told by the signal": async (given) => {
    let reason: unknown;
    let ran = 0;
    const hook: AroundDelivery = async (ctx, next) => {
      if (ctx.receiverKey === "next") return await next();
      ctx.signal.addEventListener("abort", () => reason = ctx.signal.reason);
      await forEver();
    };
    const hangs = onOrder("mail", () => ran++, { timeout: { milliseconds: 60 } });
    assert.deepEqual(await deliver(given, hook, hangs, onOrder("next")), { failed: 1, succeeded: 1 });
    assert.equal(ran, 0);
    assert.ok(reason instanceof ReceiverTimeout);
    assert.match((await given.row("mail")).lastError!, /^ReceiverTimeout/);
  },

  "one that goes on after that runs nothing": async (given) => {
    let ran = 0;
    const refused = Promise.withResolvers<unknown>();
    const hook: AroundDelivery = async (ctx, next) => {
      await waitFor(async () => (await given.row()).status === "failed" && ctx.signal.aborted, { what: "the timeout" });
      refused.resolve(await rejection(next()));
    };
    const mail = onOrder("mail", () => ran++, { timeout: { milliseconds: 60 } });
    assert.deepEqual(await deliver(given, hook, mail), { failed: 1 });
    assert.ok(await refused.promise instanceof ReceiverTimeout);
    assert.deepEqual([ran, (await given.row()).attempts], [0, 1]);
  },

  "one that hangs after next is left behind after the time of an attempt": async (given) => {
    const hook: AroundDelivery = async (_, next) => {
      await next();
      await forEver();
    };
    const stock = onOrder("stock", () => {}, { timeout: { milliseconds: 50 } });
    assert.deepEqual(await deliver(given, hook, stock), { succeeded: 1 });
    assert.match(given.logs.lines("error").join(), /aroundDelivery still runs 50 ms after delivery \d+ was recorded/);
  },

  "a receiver that times out inside rejects next with the timeout": async (given) => {
    const { thrown, hook } = noting();
    const mail = onOrder("mail", forEver, { timeout: { milliseconds: 60 } });
    assert.deepEqual(await deliver(given, hook, mail), { failed: 1 });
    assert.ok(thrown[0] instanceof ReceiverTimeout);
  },

  "when the claim is lost next rejects with LeaseLost, and nothing is recorded": async (given) => {
    const { thrown, hook } = noting();
    const stock = onOrder("stock", async (_, { signal }) => {
      await given.steal("stock");
      await waitFor(() => signal.aborted, { what: "the loss" });
      throw new Error("given up");
    }, short);
    assert.deepEqual(await deliver(given, hook, stock), {});
    assert.ok(thrown[0] instanceof LeaseLost);
    assert.deepEqual([(await given.row()).attempts, (await given.row()).claimedBy], [0, "thief"]);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "a claim that is lost while the hook is before next runs nothing": async (given) => {
    let ran = 0;
    let reason: unknown;
    const hook: AroundDelivery = async (ctx, next) => {
      const { signal } = ctx;
      await given.steal("stock");
      await waitFor(() => signal.aborted, { what: "the loss" });
      reason = await rejection(next());
      throw reason;
    };
    assert.deepEqual(await deliver(given, hook, onOrder("stock", () => ran++, short)), {});
    assert.equal(ran, 0);
    await waitFor(() => reason, { what: "the hook" });
    assert.ok(reason instanceof LeaseLost);
    assert.deepEqual([(await given.row()).attempts, (await given.row()).claimedBy], [0, "thief"]);
  },

  "past the grace of a relay an attempt is given back, before next and after": async (given) => {
    const { thrown, hook } = noting();
    let before: AbortSignal | undefined;
    let running = false;
    const outbox = given.outbox([
      onOrder("before", () => assert.fail("it ran")),
      onOrder("inside", async () => {
        running = true;
        await forEver();
      }),
    ], {
      aroundDelivery: (ctx, next) => {
        if (ctx.receiverKey === "inside") return hook(ctx, next);
        before = ctx.signal;
        return forEver();
      },
    });
    await given.fire(outbox, order());
    const concurrency = given.storage.capabilities.maxConcurrency;
    const relay = await given.relay(outbox, { grace: { milliseconds: 50 } });
    await waitFor(() => before && (running || concurrency === 1), { what: "the hooks" });
    assert.deepEqual(await relay.stop(), {});
    assert.ok(before!.reason instanceof RelayStopped);
    if (running) await waitFor(() => thrown[0] instanceof RelayStopped, { what: "next to reject" });
    const rows = await given.rows();
    assert.deepEqual(rows.map(({ status, attempts, lapses }) => [status, attempts, lapses]), [
      ["pending", 0, 0],
      ["pending", 0, 0],
    ]);
  },

  "in a caller's transaction the outcome is not committed when next settles, and goes with it": async (given) => {
    const seen: unknown[] = [];
    let open = 0;
    let most = 0;
    const hook: AroundDelivery = async (ctx, next) => {
      most = Math.max(most, ++open);
      await next().catch(() => {});
      await Promise.resolve();
      seen.push(ctx.receiverKey);
      open--;
    };
    const outbox = given.outbox([onOrder("stock"), failing("mail")], { aroundDelivery: hook });
    await given.fire(outbox, order());
    await rejection(outbox.transaction(async (tx) => {
      assert.deepEqual(await deliverPending(tx), { succeeded: 1, failed: 1 });
      throw new Error("undo");
    }));
    assert.deepEqual([seen, most], [["stock", "mail"], 1]);
    assert.deepEqual(await given.outcomes(), ["stock pending 0", "mail pending 0"]);
  },

  "in a caller's transaction of the only writer a transaction of its own is refused, not waited for": async (given) => {
    const outbox = given.outbox([onOrder("stock")], {
      aroundDelivery: async (_, next) => {
        await outbox.transaction((tx) => given.note(tx.client, "by the hook"));
        await next();
      },
    });
    await given.fire(outbox, order());
    const counts = await outbox.transaction((tx) => deliverPending(tx));
    assert.deepEqual(counts, given.oneWriter ? { failed: 1 } : { succeeded: 1 });
    if (given.oneWriter) assert.match((await given.row()).lastError!, /would wait for itself/);
    assert.deepEqual(await given.notes(), given.oneWriter ? [] : ["by the hook"]);
  },

  "with a concurrency of 1 one hook ends before the next begins": async (given) => {
    let open = 0;
    let most = 0;
    const hook: AroundDelivery = async (_, next) => {
      most = Math.max(most, ++open);
      await next();
      await given.events();
      open--;
    };
    const outbox = given.outbox([onOrder("stock")], { aroundDelivery: hook });
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await deliverPending(outbox), { succeeded: 5 });
    assert.equal(most, 1);
  },

  "what it fires through the context is the receiver's, and commits with it": async (given) => {
    const Audited = event<null>("audited");
    const outbox = given.outbox([onOrder("stock"), failing("mail")], {
      events: [Audited],
      aroundDelivery: async (ctx, next) => {
        await fire(ctx, Audited(null));
        await next();
      },
    });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1, failed: 1 });
    assert.deepEqual((await given.events()).map(({ name }) => name), ["orders.placed", "audited"]);
  },

  "several compose into one, the first outermost": async (given) => {
    const steps: string[] = [];
    const named = (name: string): AroundDelivery => async (_, next) => {
      steps.push(`> ${name}`);
      try {
        await next();
      } catch (error) {
        steps.push(`${name}: ${(error as Error).message}`);
        throw error;
      } finally {
        steps.push(`< ${name}`);
      }
    };
    const hook = composeAround(named("a"), named("b"), named("c"));
    assert.deepEqual(await deliver(given, hook, failing("mail")), { failed: 1 });
    assert.deepEqual(steps, ["> a", "> b", "> c", "c: no luck", "< c", "b: no luck", "< b", "a: no luck", "< a"]);
    assert.deepEqual(given.logs.lines("error"), []);
  },

  "what is not a function is refused when the outbox is built": (given) => {
    assert.throws(() => given.outbox([], { aroundDelivery: "hook" as never }), /aroundDelivery must be a function/);
    return given.nothing();
  },
};
