import assert from "node:assert/strict";
import { fire } from "../../mod.ts";
import { assertFired, drainOutbox, ManualClock, replaceReceiver } from "../../src/testing/mod.ts";
import { onOrder, opened, order, OrderPlaced } from "./given.ts";

// The runtime's own framework, as an application's tests use it: `Deno.test`, or `test` of "bun:test".
type Test = (title: string, run: () => Promise<void>) => void;
const bun = "bun:test";
const test: Test = "Deno" in globalThis ? Deno.test : (await import(bun)).test;

test("the helpers work in the runtime's own test framework", async () => {
  const clock = new ManualClock(new Date("2030-01-01T00:00:00Z"));
  const ran: number[] = [];
  await using outbox = opened([onOrder("expire", ({ orderId }) => ran.push(orderId), { due: { hours: 48 } })], {
    clock,
  });
  await outbox.transaction((tx) => fire(tx, order(7)));
  await assertFired(outbox, OrderPlaced, { times: 1, payload: { orderId: 7 } });
  await assert.rejects(assertFired(outbox, OrderPlaced, { times: 2 }), { name: "AssertionError" });
  assert.deepEqual(await drainOutbox(outbox), {});
  clock.advance({ hours: 48 });
  using _watch = replaceReceiver(outbox, "expire", ({ orderId }) => ran.push(-orderId));
  assert.deepEqual(await drainOutbox(outbox), { succeeded: 1 });
  assert.deepEqual(ran, [-7]);
});
