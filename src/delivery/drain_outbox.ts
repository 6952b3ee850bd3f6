import { type InstantLike, instantOf } from "../instant.ts";
import { coreOf, type Outbox } from "../core.ts";
import { refuseUnknown } from "../declaration/refusals.ts";
import type { DeliveryCounts } from "./counts.ts";
import { deliverDue } from "./deliver_pending.ts";
import { workerName } from "./worker.ts";

/** Options of {@linkcode drainOutbox}. */
export interface DrainOutboxOptions {
  /** The moment for claims, to let scheduled deliveries come due; receivers see the real clock. */
  readonly now?: InstantLike;
  /** Starts nothing once it aborts. */
  readonly signal?: AbortSignal;
}

/**
 * Delivers everything to its end, by the very path that the relay takes: for tests. It skips the backoff, so that a
 * failing receiver reaches its dead letter in one call, and never a scheduled moment. Rows of unknown receivers are
 * orphaned at once, and those of an event or a version that is not declared here are dead.
 *
 * With a `now` in the future, a receiver that throws `NotYet` by the real clock alone is due again each time, and the
 * call goes on until `signal` aborts: let it ask `ctx.dueAt` as well, as the example of `NotYet` does.
 *
 * @returns how many attempts ended in which status
 * @throws the database's error when it does not answer
 *
 * @example A receiver that always fails
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, drainOutbox, event, fire, receiver } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const broken = receiver(OrderPlaced, "broken", () => {
 *   throw new Error("no");
 * }, { maxAttempts: 3 });
 *
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [broken] });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * console.log(await drainOutbox(outbox)); // { failed: 2, dead: 1 }
 * ```
 */
export async function drainOutbox(outbox: Outbox, options: DrainOutboxOptions = {}): Promise<DeliveryCounts> {
  refuseUnknown(options, ["now", "signal"], "drain the outbox");
  const core = coreOf(outbox, "drain the outbox");
  return await deliverDue({ core, within: undefined }, {
    worker: workerName(),
    limit: core.settings.batchSize,
    once: false,
    concurrency: 1,
    graceMs: 0,
    ignoreBackoff: true,
    lane: null,
    now: options.now === undefined ? undefined : instantOf(options.now, "the option now"),
    settleNow: undefined,
    stop: options.signal,
  });
}
