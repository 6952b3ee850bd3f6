import assert from "node:assert/strict";
import { deliverPending } from "../../../mod.ts";
import { type Cases, later } from "./given.ts";
import { hostileErrors } from "./hostile.ts";
import { failing, onOrder, order } from "./samples.ts";

const cases: Record<string, Cases[string]> = {};
for (const [title, thrown] of Object.entries(hostileErrors)) {
  cases[`${title} is recorded as a failed attempt, and the next delivery runs`] = async (given) => {
    const ran: number[] = [];
    const outbox = given.outbox([
      failing("sync", {}, thrown),
      onOrder("async", () => Promise.reject(thrown)),
      failing("last", { maxAttempts: 1 }, thrown),
      onOrder("next", ({ orderId }) => ran.push(orderId)),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 2, dead: 1, succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["sync failed 1", "async failed 1", "last dead 1", "next succeeded 1"]);
    assert.deepEqual(ran, [1]);
    for (const key of ["sync", "async", "last"]) {
      const { lastError } = await given.row(key);
      assert.ok(lastError !== null && lastError !== "");
      assert.ok(lastError.length <= 2000 && lastError.isWellFormed() && !lastError.includes("\0"));
    }
    const lines = given.logs.lines("warning", "delivery");
    assert.equal(lines.length, 3);
    assert.ok(lines.every((line) => line.length < 1000), "a line in the log is short");
  };
}

export const errorCases: Cases = {
  ...cases,

  "the text is the class and the message": async (given) => {
    class MailboxFull extends Error {
      override name = "MailboxFull";
    }
    const outbox = given.outbox([
      failing("a", {}, new MailboxFull("of jo")),
      failing("b", {}, "just text"),
      failing("c", {}, null),
      failing("d", {}, new Error("a\0b\ud800c")),
      failing("e", {}, new Error("x".repeat(10_000))),
    ]);
    await given.fire(outbox, order());
    await deliverPending(outbox);
    const texts = (await given.rows()).map((row) => row.lastError);
    assert.deepEqual(texts.slice(0, 4), [
      "MailboxFull: of jo",
      "string: just text",
      "null: null",
      "Error: a\ufffdb\ufffdc",
    ]);
    assert.equal(texts[4], `Error: ${"x".repeat(1993)}`);
  },

  "a receiver that returns something hostile is no harm": async (given) => {
    const hostile = [
      Object.defineProperty({}, "then", {
        get: () => {
          throw new Error("getter");
        },
      }),
      {
        then: () => {
          throw new Error("then");
        },
      },
      { then: (_: unknown, reject: (error: unknown) => void) => reject(new Error("rejected")) },
    ];
    const outbox = given.outbox(hostile.map((value, i) => onOrder(`r${i}`, () => value)));
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 3 });
    assert.deepEqual((await given.rows()).map((row) => row.lastError), [
      "Error: getter",
      "Error: then",
      "Error: rejected",
    ]);
  },

  "the newest error replaces the one before, and a success leaves the last": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("mail", () => {
        if (++runs < 3) throw new Error(`attempt ${runs}`);
      }),
    ]);
    await given.fire(outbox, order());
    for (const [hours, error] of [[1, "Error: attempt 1"], [2, "Error: attempt 2"], [3, "Error: attempt 2"]] as const) {
      await deliverPending(outbox, { now: later({ hours }) });
      assert.equal((await given.row()).lastError, error);
    }
  },
};
