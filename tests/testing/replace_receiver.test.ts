import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { DeliveryContext } from "../../mod.ts";
import { drainOutbox, replaceReceiver } from "../../src/testing/mod.ts";
import { fired, onOrder, opened, order } from "./given.ts";

describe("replaceReceiver", () => {
  it("runs another handler until it is disposed of, and keeps the receiver's options", async () => {
    const ran: string[] = [];
    await using outbox = opened([onOrder("mail", () => ran.push("own"), { maxAttempts: 2 })]);
    {
      using _broken = replaceReceiver(outbox, "mail", () => {
        throw new Error("the mail server is down");
      });
      await fired(outbox, order());
      assert.deepEqual(await drainOutbox(outbox), { failed: 1, dead: 1 });
    }
    await fired(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
    assert.deepEqual(ran, ["own"]);
  });

  it("gives the handler what the receiver's own would get", async () => {
    await using outbox = opened([onOrder("mail")]);
    const seen: unknown[] = [];
    using _watch = replaceReceiver(outbox, "mail", (payload, ctx: DeliveryContext) => {
      seen.push([payload, ctx.receiverKey, ctx.attempt]);
    });
    await fired(outbox, order());
    await drainOutbox(outbox);
    assert.deepEqual(seen, [[{ orderId: 1, total: "49.00" }, "mail", 1]]);
  });

  it("replaces inline and on-commit receivers too", async () => {
    const ran: string[] = [];
    const own = () => ran.push("own");
    await using outbox = opened([
      onOrder("limit", own, { mode: "inline" }),
      onOrder("cache", own, { mode: "on-commit" }),
    ]);
    {
      using _limit = replaceReceiver(outbox, "limit", () => ran.push("limit"));
      using _cache = replaceReceiver(outbox, "cache", () => ran.push("cache"));
      await fired(outbox, order());
    }
    await fired(outbox, order());
    assert.deepEqual(ran, ["limit", "cache", "own", "own"]);
  });

  it("may be nested, and touches no other receiver and no other outbox", async () => {
    const ran: string[] = [];
    const receivers = [onOrder("a", () => ran.push("a")), onOrder("b", () => ran.push("b"))];
    await using outbox = opened(receivers);
    await using other = opened(receivers);
    {
      using _outer = replaceReceiver(outbox, "a", () => ran.push("outer"));
      {
        using _inner = replaceReceiver(outbox, "a", () => ran.push("inner"));
        await fired(outbox, order());
        await fired(other, order());
        await drainOutbox(outbox);
        await drainOutbox(other);
      }
      await fired(outbox, order());
      await drainOutbox(outbox);
    }
    assert.deepEqual(ran, ["inner", "b", "a", "b", "outer", "b"]);
  });

  it("refuses a receiver that is not listed, and a handler that is none", async () => {
    await using outbox = opened([onOrder("mail")]);
    assert.throws(() => replaceReceiver(outbox, "mial", () => {}), /"mial": the outbox does not list it/);
    assert.throws(() => replaceReceiver(outbox, "mail", undefined as never), /handler must be a function/);
  });
});
