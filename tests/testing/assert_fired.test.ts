import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createClient } from "@libsql/client";
import { z } from "zod";
import { event } from "../../mod.ts";
import { assertFired } from "../../src/testing/mod.ts";
import { fired, opened, order, OrderPaid, OrderPlaced } from "./given.ts";

const events = [OrderPlaced, OrderPaid];

/** The failure's text. */
async function failure(assertion: Promise<unknown>): Promise<string> {
  try {
    await assertion;
  } catch (error) {
    assert.equal((error as Error).name, "AssertionError");
    return (error as Error).message;
  }
  assert.fail("Expected the assertion to fail");
}

describe("assertFired", () => {
  it("with a part of a payload counts the events that have it, and gives them whole", async () => {
    await using outbox = opened([], { events });
    await fired(outbox, order(1, "1.00"), order(2, "2.00"), order(3, "1.00"));
    const found = await assertFired(outbox, OrderPlaced, { times: 2, payload: { total: "1.00" } });
    assert.deepEqual(found, [{ orderId: 1, total: "1.00" }, { orderId: 3, total: "1.00" }]);
    assert.deepEqual(await assertFired(outbox, OrderPlaced, { times: 0, payload: { orderId: 4 } }), []);
    assert.equal((await assertFired(outbox, OrderPlaced, { payload: {} })).length, 3);
  });

  it("compares with what receivers get", async () => {
    const Dated = event("dated", { schema: z.object({ at: z.iso.date().transform((text) => new Date(text)) }) });
    await using outbox = opened([], { events: [Dated] });
    await fired(outbox, Dated({ at: "2020-01-02" }));
    await assertFired(outbox, Dated, { payload: { at: new Date("2020-01-02") } });
    await failure(assertFired(outbox, Dated, { payload: { at: new Date("2020-01-03") } }));
  });

  it("says what was fired instead: the payloads of this event, and how often each event was", async () => {
    await using outbox = opened([], { events });
    await fired(outbox, order(1, "1.00"), OrderPaid({ orderId: 1 }), order(2, "2.00"));
    assert.equal(
      await failure(assertFired(outbox, OrderPlaced, { payload: { orderId: 3, total: "1.00" } })),
      'Expected "orders.placed" with a payload like {"orderId":3,"total":"1.00"} to be fired at least once, ' +
        'it was fired 0 times; fired were "orders.placed" (2), "orders.paid" (1), "orders.placed" with:\n' +
        '  {"orderId":1,"total":"1.00"}\n' +
        '  {"orderId":2,"total":"2.00"}',
    );
    assert.equal(
      await failure(assertFired(outbox, OrderPaid, { times: 2 })),
      'Expected "orders.paid" to be fired 2 times, it was fired 1 times; ' +
        'fired were "orders.placed" (2), "orders.paid" (1), "orders.paid" with:\n  {"orderId":1}',
    );
  });

  it("says so when nothing was fired at all", async () => {
    await using outbox = opened([], { events });
    assert.equal(
      await failure(assertFired(outbox, OrderPlaced)),
      'Expected "orders.placed" to be fired at least once, it was fired 0 times; nothing was fired at all',
    );
  });

  it("shows ten payloads, and of a long one its beginning", async () => {
    await using outbox = opened([], { events });
    await fired(outbox, ...Array.from({ length: 12 }, (_, i) => order(i, "x".repeat(1000))));
    const text = await failure(assertFired(outbox, OrderPlaced, { times: 1 }));
    assert.equal(text.split("\n").length, 12);
    assert.ok(text.endsWith("\n  and 2 more"));
    assert.ok(text.split("\n").every((line) => line.length < 400));
    assert.ok(text.includes('{"orderId":0,"total":"xxx') && text.includes("x..."));
  });

  it("shows no private value: of what was fired, of an older version, and of what was expected", async () => {
    const secret = "4111";
    const Paid = event<{ card: { number: string }; lines: { name: string; n: number }[] }>("orders.paid", {
      version: 2,
      private: ["card.number", "lines[].name"],
      upgrade: (old) => ({ card: { number: (old as { cardNumber: string }).cardNumber }, lines: [] }),
    });
    const Old = event<{ cardNumber: string }>("orders.paid");
    const client = createClient({ url: ":memory:" });
    await using outbox = opened([], { client, events: [Paid] });
    await using before = opened([], { client, events: [Old] });
    await fired(before, Old({ cardNumber: secret }));
    await fired(outbox, Paid({ card: { number: secret }, lines: [{ name: secret, n: 1 }, { name: secret, n: 2 }] }));
    const payload = { card: { number: `${secret} ` } };
    const text = await failure(assertFired(outbox, Paid, { payload }));
    assert.ok(!text.includes(secret), text);
    assert.match(text, /like \{"card":\{"number":"\[private\]"\}\}/);
    assert.match(text, /"lines":\[\{"name":"\[private\]","n":1\},\{"name":"\[private\]","n":2\}\]/);
    assert.match(text, /\{"card":\{"number":"\[private\]"\},"lines":\[\]\}/);
  });

  it("refuses what makes no sense, or a misspelt option would assert nothing", async () => {
    await using outbox = opened([], { events });
    await fired(outbox, order());
    for (const times of [-1, 1.5, NaN, "1", null]) {
      await assert.rejects(assertFired(outbox, OrderPlaced, { times: times as never }), RangeError);
    }
    await assert.rejects(assertFired(outbox, OrderPlaced, { time: 2 } as never), /unknown option "time"/);
    await assert.rejects(assertFired(outbox, OrderPlaced, { signal: AbortSignal.abort() }), { name: "AbortError" });
  });

  it("pitfall 170: fails by an exception of its own, which no build of the runtime can leave out", async () => {
    await using outbox = opened([], { events });
    const assertion = console.assert;
    console.assert = () => {};
    try {
      await assert.rejects(assertFired(outbox, OrderPlaced), { name: "AssertionError" });
    } finally {
      console.assert = assertion;
    }
  });
});
