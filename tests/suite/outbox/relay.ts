import assert from "node:assert/strict";
import { deliverPending, fire, MigrationsMissing, receiver, RelayStopped, runRelay } from "../../../mod.ts";
import { turn } from "../../support/fake_time.ts";
import { takeTime, waitFor } from "../../support/wait_for.ts";
import { type Cases, rejection, upTo } from "./given.ts";
import { clocked } from "./clocked.ts";
import { failing, onOrder, order, StockReserved } from "./samples.ts";

/** Polls so seldom that only a wake can explain what happens. */
const onlyWoken = { poll: { minutes: 5 } };

export const relayCases: Cases = {
  "it delivers what was there, and what is fired while it runs": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))]);
    await given.fire(outbox, order(1));
    const relay = await given.relay(outbox);
    await given.fire(outbox, order(2));
    await waitFor(() => ran.length === 2, { what: "both deliveries" });
    assert.deepEqual(await relay.stop(), { succeeded: 2 });
    assert.deepEqual(ran, [1, 2]);
  },

  "a fire wakes it": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], { settings: onlyWoken });
    await using _relay = await given.relay(outbox);
    for (const n of upTo(5)) {
      await given.fire(outbox, order(n));
      await waitFor(() => ran.length === n, { what: `delivery ${n}`, timeoutMs: 5000 });
    }
  },

  "so does a child that a receiver fires": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("again", ({ orderId }, ctx) => {
        ran.push(orderId);
        return orderId < 4 ? fire(ctx, order(orderId + 1)) : undefined;
      }),
    ], { settings: onlyWoken });
    await using _relay = await given.relay(outbox);
    await given.fire(outbox, order(1));
    await waitFor(() => ran.length === 4, { what: "the last child", timeoutMs: 5000 });
  },

  "without a wake the poll finds it": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], {
      settings: { wake: "poll", poll: { milliseconds: 50 } },
    });
    await using _relay = await given.relay(outbox);
    await given.fire(outbox, order());
    await waitFor(() => ran.length === 1, { what: "the delivery" });
  },

  "it wakes by itself when the next row is due": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("mail", () => {
        if (++runs < 4) throw new Error("no luck");
      }, { backoff: { base: { milliseconds: 60 }, cap: { milliseconds: 60 } } }),
    ], { settings: onlyWoken });
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox);
    await waitFor(async () => (await given.row()).status === "succeeded", { what: "the retries", timeoutMs: 5000 });
    assert.deepEqual(await given.outcomes(), ["mail succeeded 4"]);
  },

  "a stop lets what runs finish, and hands back the rest at once": async (given) => {
    const gate = Promise.withResolvers<void>();
    let signal: AbortSignal | undefined;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        signal = ctx.signal;
        await gate.promise;
      }),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    const relay = await given.relay(outbox, { concurrency: 1 });
    await waitFor(() => signal, { what: "the first receiver" });
    const stopped = relay.stop();
    await waitFor(async () => (await given.outcomes()).filter((o) => o === "stock pending 0").length === 4, {
      what: "the rest to be handed back while the first one runs",
    });
    assert.equal(signal!.aborted, false);
    gate.resolve();
    assert.deepEqual(await stopped, { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1", ...Array(4).fill("stock pending 0")]);
    assert.deepEqual((await given.rows()).map((row) => row.lapses), [0, 0, 0, 0, 0]);
  },

  "past the grace what runs is given back, and does not count": async (given) => {
    let reason: unknown;
    let started = false;
    const outbox = given.outbox([
      onOrder("slow", async (_, { signal }) => {
        started = true;
        await waitFor(() => signal.aborted, { what: "the end of the grace" });
        reason = signal.reason;
        throw reason;
      }),
    ]);
    await given.fire(outbox, order());
    const relay = await given.relay(outbox, { grace: { milliseconds: 50 } });
    await waitFor(() => started, { what: "the receiver" });
    assert.deepEqual(await relay.stop(), {});
    await waitFor(() => reason, { what: "the receiver to hear of it" });
    assert.ok(reason instanceof RelayStopped);
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lapses, row.lastError], ["pending", 0, 0, null]);
  },

  "past the grace a transaction that is open is undone": async (given) => {
    let opened = false;
    const outbox = given.outbox([
      onOrder("slow", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        opened = true;
        await new Promise(() => {});
      }),
    ]);
    await given.fire(outbox, order());
    const relay = await given.relay(outbox, { grace: { milliseconds: 50 } });
    await waitFor(() => opened, { what: "the transaction" });
    assert.deepEqual(await relay.stop(), {});
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual(await given.outcomes(), ["slow pending 0"]);
  },

  "pitfall 131: claims that fail do not end it": async (given) => {
    let failures = 0;
    const ran: number[] = [];
    const storage = given.changed({
      claim: (...request) => ++failures <= 3 ? Promise.reject(new Error("secret")) : given.storage.claim(...request),
    });
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], {
      storage,
      settings: { poll: { milliseconds: 20 } },
    });
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox);
    await waitFor(() => ran.length === 1, { what: "the delivery" });
    assert.match(given.logs.lines("warning", "relay").join("\n"), /could not claim \(Error\); trying again in 20 ms/);
    assert.ok(!given.logs.everything.includes("secret"));
  },

  "a claim whose answer was lost is given back once the database answers": async (given) => {
    let lost = false;
    const ran: number[] = [];
    const storage = given.changed({
      claim: async (...request) => {
        const rows = await given.storage.claim(...request);
        if (rows.length > 0 && !lost) {
          lost = true;
          throw new Error("the answer was lost");
        }
        return rows;
      },
    });
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], {
      storage,
      settings: { poll: { milliseconds: 20 } },
    });
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox);
    await waitFor(() => ran.length === 1, { what: "the delivery, long before its lease lapses" });
    assert.equal((await given.row()).lapses, 0);
  },

  "a renewal that fails does not end it": async (given) => {
    const storage = given.changed({ renew: () => Promise.reject(new Error("no")) });
    const outbox = given.outbox([onOrder("stock", () => takeTime(250), { lease: { milliseconds: 300 } })], { storage });
    await given.fire(outbox, order());
    const relay = await given.relay(outbox);
    await waitFor(async () => (await given.row()).status === "succeeded", { what: "the delivery" });
    assert.deepEqual(await relay.stop(), { succeeded: 1 });
    assert.match(given.logs.lines("warning", "delivery")[0]!, /could not renew 1 leases/);
  },

  "as many run at a time as the storage can carry, with a warning": async (given) => {
    let running = 0;
    let most = 0;
    const storage = given.changed({ capabilities: { ...given.storage.capabilities, maxConcurrency: 2 } });
    const outbox = given.outbox([
      onOrder("stock", async () => {
        most = Math.max(most, ++running);
        await given.events();
        running--;
      }),
    ], { storage });
    await given.fire(outbox, ...upTo(10).map(order));
    const relay = await given.relay(outbox, { concurrency: 50 });
    await waitFor(async () => (await given.outcomes()).every((one) => one.includes("succeeded")), { what: "all" });
    await relay.stop();
    assert.ok(most <= 2, `${most} at a time`);
    assert.match(given.logs.lines("warning", "delivery").join(), /concurrency 50 is more than .* running 2 at a time/);
  },

  "it ends after so many passes": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, ...upTo(5).map(order));
    assert.deepEqual(await runRelay(outbox, { passes: 2, batchSize: 2 }), { succeeded: 4 });
    assert.deepEqual((await given.outcomes()).filter((one) => one === "stock pending 0").length, 1);
  },

  "a signal that has aborted starts nothing": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await given.fire(outbox, order());
    assert.deepEqual(await runRelay(outbox, { signal: AbortSignal.abort() }), {});
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },

  "options out of range are refused by name": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const wrong = [
      ...[0, 1.5, "2", 1001].map((concurrency) => ({ concurrency })),
      ...[0, 1.5, "2", 1001].map((batchSize) => ({ batchSize })),
      ...[0, 1.5, "2"].map((passes) => ({ passes })),
      ...[0, 5, {}, { seconds: -1 }].map((grace) => ({ grace })),
    ];
    for (const options of wrong) {
      await assert.rejects(runRelay(outbox, { signal: AbortSignal.abort(), ...options } as never), (error: Error) => {
        assert.match(error.message, new RegExp(Object.keys(options)[0]!));
        return true;
      });
    }
    await assert.rejects(runRelay({} as never), TypeError);
  },

  "without the migrations it does not start": async (given) => {
    await using database = await given.fresh();
    const outbox = given.outbox([onOrder("stock")], { storage: database.storage });
    const error = await rejection(runRelay(outbox, { signal: AbortSignal.abort() }));
    assert.ok(error instanceof MigrationsMissing);
    assert.match(error.message, /migration 1 "tables" is missing; run the relay's command "migrate"/);
  },

  "its rows carry the name that it was given, and a nonce": async (given) => {
    const names = new Set<string | null>();
    const outbox = given.outbox([onOrder("stock", async () => names.add((await given.row()).claimedBy))]);
    await given.fire(outbox, order());
    await using _relay = await given.relay(outbox, { workerId: "box-1" });
    await waitFor(() => names.size === 1, { what: "the delivery" });
    assert.match([...names][0]!, /^box-1#[0-9a-f]{8}$/);
  },

  "it says which receivers it lists": async (given) => {
    await using _relay = await given.relay(given.outbox([onOrder("stock")], { app: "shop" }));
    const listed = () =>
      given.database.query(`select app from ${given.database.table("receivers")} where app = 'shop'`);
    await waitFor(async () => (await listed()).length === 1, { what: "the announcement" });
    assert.equal((await listed())[0]!.app, "shop");
  },

  "it ends rows of receivers that nobody lists": async (given) => {
    await given.fire(given.outbox([onOrder("gone")]), order());
    const outbox = given.outbox([onOrder("stock")], { settings: { orphanAfter: { milliseconds: 600 } } });
    await using _relay = await given.relay(outbox);
    await waitFor(async () => (await given.row()).status === "orphaned", { what: "the orphan" });
  },

  "two of them share the work, and run nothing twice": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], {
      settings: { poll: { milliseconds: 30 } },
    });
    const storage = given.database.second ?? given.storage;
    const other = given.outbox([onOrder("stock", ({ orderId }) => ran.push(orderId))], {
      storage,
      settings: { poll: { milliseconds: 30 } },
    });
    const relays = [await given.relay(outbox, { batchSize: 7 }), await given.relay(other, { batchSize: 7 })];
    for (const n of upTo(20)) await given.fire(outbox, ...upTo(10).map((m) => order(n * 10 + m)));
    await waitFor(async () => (await given.outcomes()).every((one) => one === "stock succeeded 1"), { what: "all" });
    const counts = await Promise.all(relays.map((relay) => relay.stop()));
    assert.equal((counts[0]!.succeeded ?? 0) + (counts[1]!.succeeded ?? 0), 200);
    assert.deepEqual([...ran].sort((a, b) => a - b), upTo(20).flatMap((n) => upTo(10).map((m) => n * 10 + m)));
  },

  "a stop during an outage ends it": async (given) => {
    const storage = given.changed({ claim: () => Promise.reject(new Error("down")) });
    const outbox = given.outbox([failing("mail")], { storage, settings: { poll: { minutes: 1 } } });
    const relay = await given.relay(outbox);
    await waitFor(() => given.logs.lines("warning", "relay").some((line) => line.includes("could not claim")), {
      what: "the outage",
    });
    assert.deepEqual(await relay.stop(), {});
  },

  "behind slow receivers it keeps no rows that another relay could run": async (given) => {
    const release = Promise.withResolvers<void>();
    const ran: number[] = [];
    const receivers = [
      onOrder("slow", () => release.promise),
      receiver(StockReserved, "fast", ({ orderId }) => ran.push(orderId)),
    ];
    const settings = { poll: { milliseconds: 50 } };
    const busy = given.outbox(receivers, { settings });
    const free = given.outbox(receivers, { settings, storage: given.database.second ?? given.storage });
    const concurrency = Math.min(3, given.storage.capabilities.maxConcurrency);
    await given.fire(busy, ...upTo(concurrency).map(order), ...upTo(30).map((orderId) => StockReserved({ orderId })));
    const first = await given.relay(busy, { concurrency });
    await waitFor(
      async () => (await given.outcomes()).filter((one) => one.startsWith("slow claimed")).length === concurrency,
      {
        what: "the slow ones",
      },
    );
    const second = await given.relay(free, { concurrency });
    await waitFor(() => ran.length === 30, { what: "the fast ones, while the slow ones run" });
    release.resolve();
    await Promise.all([first.stop(), second.stop()]);
    assert.ok((await given.rows()).every((row) => row.status === "succeeded" && row.attempts === 1));
  },

  "what a row waited for is handed back uncounted, and comes again when there is room": async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }) => {
        if (orderId === 1) await takeTime(400);
        ran.push(orderId);
      }),
    ]);
    await given.fire(outbox, ...upTo(5).map(order));
    const relay = await given.relay(outbox, { concurrency: 1 });
    await waitFor(async () => (await given.outcomes()).filter((one) => one === "stock pending 0").length === 4, {
      what: "the rest to be handed back",
    });
    await waitFor(() => ran.length === 5, { what: "all" });
    assert.deepEqual(await relay.stop(), { succeeded: 5 });
    assert.deepEqual(ran, upTo(5));
    assert.ok((await given.rows()).every((row) => row.attempts === 1 && row.lapses === 0));
  },

  "what is due and cannot be claimed is looked at less and less often": async (given) => {
    let looks = 0;
    const storage = given.changed({
      claim: () => Promise.resolve(void looks++).then(() => []),
      nextDue: () => Promise.resolve(0),
    });
    const { outbox, clock } = clocked(given, [onOrder("stock")], { storage, settings: { poll: { seconds: 1 } } });
    await using _relay = await given.relay(outbox);
    await waitFor(() => looks === 1 && clock.sleeps === 2, { what: "both its loops to sleep" });
    for (const milliseconds of [10, 20, 40, 80, 160, 320, 640, 1000, 1000]) {
      const before = looks;
      clock.advance({ milliseconds: milliseconds - 1 });
      await turn();
      assert.equal(looks, before, `before ${milliseconds} ms`);
      await clock.asleepAfter(() => clock.advance({ milliseconds: 1 }));
      assert.equal(looks, before + 1, `after ${milliseconds} ms`);
    }
  },

  "a relay that gives back what it does not know leaves alone what another call of its process runs": async (given) => {
    let lost = false;
    const release = Promise.withResolvers<void>();
    const storage = given.changed({
      claim: (...request) => {
        if (lost) return given.storage.claim(...request);
        lost = true;
        return Promise.reject(new Error("down"));
      },
    });
    const receivers = [onOrder("stock", () => release.promise)];
    await given.fire(given.outbox(receivers), order());
    const call = deliverPending(given.outbox(receivers));
    await waitFor(async () => (await given.row()).status === "claimed", { what: "the claim" });
    const released: number[] = [];
    const noting = given.changed({
      releaseUnknown: async (...args) => {
        const count = await given.storage.releaseUnknown(...args);
        released.push(count);
        return count;
      },
    }, storage);
    const outbox = given.outbox(receivers, { storage: noting, settings: { poll: { milliseconds: 20 } } });
    await using _relay = await given.relay(outbox);
    await waitFor(() => released.length > 0, { what: "the end of the outage" });
    assert.deepEqual(released, [0]);
    release.resolve();
    assert.deepEqual(await call, { succeeded: 1 });
  },
};
