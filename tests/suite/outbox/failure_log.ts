import assert from "node:assert/strict";
import { z } from "zod";
import {
  deliverPending,
  drainOutbox,
  event,
  NotYet,
  PermanentFailure,
  receiver,
  ReceiverTimeout,
  RetryAfter,
} from "../../../mod.ts";
import { type Cases, later } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

class SmtpServerDisconnected extends Error {
  override name = "SmtpServerDisconnected";
}

export const failureLogCases: Cases = {
  "pitfall 95: each recorded failed attempt is logged once, in one shape": async (given) => {
    const outbox = given.outbox([
      failing("shop.email", { maxAttempts: 2 }, new SmtpServerDisconnected("secret")),
      onOrder("stock"),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    await deliverPending(outbox, { now: later({ hours: 1 }) });
    await deliverPending(outbox, { now: later({ hours: 2 }) });
    const { id } = await given.row("shop.email");
    const end = "with SmtpServerDisconnected; the row is";
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver shop.email failed delivery ${id} on attempt 1 ${end} failed`,
      `receiver shop.email failed delivery ${id} on attempt 2 ${end} dead`,
    ]);
    const [record] = given.logs.records.filter((one) => one.level === "warning");
    assert.deepEqual(record!.category, ["owed", "delivery"]);
    const { receiver, delivery, attempt, error, status } = record!.properties;
    assert.deepEqual([receiver, delivery, attempt, error, status], [
      "shop.email",
      id,
      1,
      "SmtpServerDisconnected",
      "failed",
    ]);
  },

  "an undecodable row is logged with the decoder's error": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order(Number.MAX_SAFE_INTEGER));
    const Stricter = event("orders.placed", { schema: z.object({ orderId: z.string() }) });
    await deliverPending(given.outbox([receiver(Stricter, "stock", () => {})]));
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver stock failed delivery ${(await given.row()).id} on attempt 1 with PayloadUndecodable; the row is dead`,
    ]);
    assert.ok(!given.logs.everything.includes(String(Number.MAX_SAFE_INTEGER)));
  },

  "pitfall 95: a row that was lost is logged as lost, not as an attempt": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async () => {
        await given.steal("stock");
        throw new Error("no luck");
      }),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    const lines = given.logs.lines("warning");
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /no longer holds delivery/);
    assert.ok(!lines[0]!.includes("on attempt"));
  },

  "pitfall 101: an outcome that could not be written is not logged as an attempt": async (given) => {
    const storage = given.changed({
      acknowledge: async (...asked) => {
        const opened = await given.storage.acknowledge(...asked);
        return opened && {
          ...opened,
          tx: opened.tx,
          abandon: () => opened.abandon(),
          finish: async () => {
            await opened.abandon();
            throw new Error("the connection was lost");
          },
        };
      },
    });
    const outbox = given.outbox([onOrder("stock", (_, ctx) => ctx.transaction())], { storage });
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    const lines = given.logs.lines("warning", "delivery");
    assert.equal(lines.length, 1);
    assert.match(lines[0]!, /lost the connection of delivery .*; its lease will lapse/);
    assert.equal((await given.row()).attempts, 0);
    assert.deepEqual(await deliverPending(given.outbox([onOrder("stock")]), { now: later({ minutes: 2 }) }), {
      succeeded: 1,
    });
  },

  "a deferral is logged the same way, and so is the give-up that ends one": async (given) => {
    const throttled = new RetryAfter({ seconds: 60 }, { counts: false });
    const outbox = given.outbox([failing("mail", { giveUpAfter: { hours: 1 } }, throttled)]);
    await given.fire(outbox, order());
    for (const minutes of [1, 30, 62, 90]) await deliverPending(outbox, { now: later({ minutes }) });
    const line = `receiver mail failed delivery ${(await given.row()).id} on attempt 1 with RetryAfter; the row is`;
    assert.deepEqual(given.logs.lines("warning", "delivery"), [`${line} failed`, `${line} failed`, `${line} dead`]);
  },

  "a failure for good and a timeout are logged as what they are": async (given) => {
    const outbox = given.outbox([
      failing("gone", {}, new PermanentFailure("410")),
      onOrder("slow", () => new Promise(() => {}), { timeout: { milliseconds: 30 } }),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    const [gone, slow] = (await given.rows()).map((row) => row.id);
    assert.deepEqual(given.logs.lines("warning", "delivery"), [
      `receiver gone failed delivery ${gone} on attempt 1 with PermanentFailure; the row is dead`,
      `receiver slow failed delivery ${slow} on attempt 1 with ${ReceiverTimeout.name}; the row is failed`,
    ]);
  },

  "pitfall 95: an orphan is no failed attempt, nor is what is not due yet": async (given) => {
    await given.fire(given.outbox([onOrder("gone"), onOrder("expire")]), order());
    const outbox = given.outbox([failing("expire", {}, new NotYet(later({ hours: 1 })))]);
    assert.deepEqual(await drainOutbox(outbox), { pending: 1, orphaned: 1 });
    assert.deepEqual(given.logs.lines("warning"), []);
  },

  "pitfall 95: a line is there for every attempt that the rows count, and for no other": async (given) => {
    const outbox = given.outbox([
      failing("a", { maxAttempts: 3 }),
      failing("b", { maxAttempts: 1 }),
      onOrder("c", (_, ctx) => {
        if (ctx.attempt < 3) throw new Error("no luck");
      }),
      onOrder("d"),
    ]);
    await given.fire(outbox, order(1), order(2));
    await drainOutbox(outbox);
    const failures = (await given.rows()).map((row) => row.attempts - (row.status === "succeeded" ? 1 : 0));
    const lines = given.logs.lines("warning", "delivery");
    assert.equal(lines.length, failures.reduce((sum, count) => sum + count, 0));
    assert.equal(lines.length, 12);
    for (const { id, receiverKey, status } of await given.rows()) {
      const own = lines.filter((line) => line.includes(`delivery ${id} `));
      const last = status === "dead" ? "dead" : "failed";
      assert.ok(own.every((line, i) => line.endsWith(i === own.length - 1 ? last : "failed")), own.join("\n"));
      assert.ok(own.every((line) => line.startsWith(`receiver ${receiverKey} failed`)));
    }
  },

  "a success is not worth a line": async (given) => {
    const outbox = given.outbox([onOrder("stock"), onOrder("mail", (_, ctx) => ctx.transaction())]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    const lines = given.logs.records.filter((one) => one.level !== "debug");
    assert.deepEqual(lines, []);
  },

  "no line holds a payload, a message of an error, or a key that was fired": async (given) => {
    const secret = "hunter2";
    const Secret = event<{ password: string }>("users.joined", { key: () => `user-${secret}` });
    const outbox = given.outbox([
      receiver(Secret, "a", ({ password }) => Promise.reject(new Error(password)), { eager: true }),
      receiver(Secret, "b", ({ password }) => Promise.reject(new Error(password)), { mode: "on-commit" }),
      receiver(Secret, "c", async ({ password }, ctx) => {
        await ctx.transaction();
        throw new TypeError(password);
      }),
    ]);
    await given.fire(outbox, Secret({ password: secret }));
    await deliverPending(outbox);
    assert.ok(given.logs.records.length >= 3);
    assert.ok(!given.logs.everything.includes(secret), given.logs.everything);
  },
};
