/**
 * What the tests of an application need: an outbox in memory in one line, a clock, the path of the relay as one call,
 * and assertions that read the log. Works with `node:test`, `Deno.test` and `bun:test`.
 *
 * ```ts
 * import { event, fire, receiver } from "@owed/outbox";
 * import { assertFired, drainOutbox, testOutbox } from "@owed/outbox/testing";
 * import { createClient } from "@libsql/client";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const seen: number[] = [];
 * const watch = receiver(OrderPlaced, "watch", (order) => void seen.push(order.orderId));
 *
 * await using outbox = testOutbox({ client: createClient({ url: ":memory:" }), receivers: [watch] });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * await assertFired(outbox, OrderPlaced, { times: 1, payload: { orderId: 1 } });
 * console.log(await drainOutbox(outbox), seen); // { succeeded: 1 } [ 1 ]
 * ```
 *
 * @module
 */
export type { Clock } from "../clock.ts";
export type { LibsqlClient, LibsqlResult, LibsqlStatement, LibsqlTransaction } from "../storage/sqlite/mod.ts";
export { assertFired, type AssertFiredOptions } from "./assert_fired.ts";
export { drainOutbox, type DrainOutboxOptions } from "../delivery/drain_outbox.ts";
export type { PartOf } from "./matches.ts";
export { ManualClock } from "./manual_clock.ts";
export { replaceReceiver } from "./replace_receiver.ts";
export { testOutbox, type TestOutboxOptions } from "./test_outbox.ts";
