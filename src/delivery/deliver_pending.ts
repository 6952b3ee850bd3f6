import type { Tx } from "../declaration/context.ts";
import { positive } from "../duration.ts";
import { refuseUnknown, requireInteger } from "../declaration/refusals.ts";
import type { Duration } from "../duration.ts";
import { type Instant, type InstantLike, instantOf } from "../instant.ts";
import type { Outbox } from "../core.ts";
import { claimDue } from "./claim.ts";
import { clampedConcurrency } from "./concurrency.ts";
import type { DeliveryCounts } from "./counts.ts";
import { DEFAULT_LANE, requireLane } from "./lanes.ts";
import { Line } from "./line.ts";
import { Pauses } from "./pauses.ts";
import { claimOrphans } from "./strangers.ts";
import { type DeliveryTarget, deliveryTarget } from "../firing/target.ts";
import { workerName } from "./worker.ts";

const OPTIONS = ["limit", "batchSize", "concurrency", "deadline", "signal", "workerId", "lane", "now"];

/** Options of {@linkcode deliverPending}. */
export interface DeliverPendingOptions {
  /** One single claim of at most this many rows, 0 to 10000. Default: claims until nothing is due. */
  readonly limit?: number;
  /** Rows of one claim, when there is no limit. Default: the outbox's setting. */
  readonly batchSize?: number;
  /** Deliveries that run at a time. Default 1, which keeps to the order in which they came due. */
  readonly concurrency?: number;
  /** Starts nothing after this long, and gives the rest back. */
  readonly deadline?: Duration;
  /** Starts nothing once it aborts, and gives the rest back; what runs finishes. */
  readonly signal?: AbortSignal;
  /** Shown in the database as the one who claims. Default: host and process id. */
  readonly workerId?: string;
  /** The lane to serve. Default null: all of them. A lane whose receiver defers is set aside until the call returns. */
  readonly lane?: string | null;
  /** The moment for claims and outcomes, for tests. Default: the database's clock. */
  readonly now?: InstantLike;
}

/**
 * Delivers what is due, until nothing is: the relay's work as one call, for a scheduled job or a test. What a delivery
 * fires or what comes due meanwhile is delivered too. Rows of receivers that nobody lists are left to a relay, unless
 * this process has been calling this for `orphanAfter`: a call that has just begun cannot know who else lives.
 *
 * @param into an outbox, or a transaction of one: then everything happens inside it, one delivery at a time, each under
 * a savepoint, so that a test which rolls back leaves nothing
 * @returns how many deliveries ended in which status; all absent when nothing was due
 * @throws {RangeError | TypeError} for an option out of range, or limit together with batchSize
 * @throws the database's error when it does not answer the first claim
 *
 * @example In a test
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, deliverPending, event, fire, receiver } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const seen: number[] = [];
 * const watch = receiver(OrderPlaced, "watch", (order) => void seen.push(order.orderId));
 *
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [watch] });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * console.log(await deliverPending(outbox), seen); // { succeeded: 1 } [ 1 ]
 * ```
 */
export async function deliverPending(into: Outbox | Tx, options: DeliverPendingOptions = {}): Promise<DeliveryCounts> {
  refuseUnknown(options, OPTIONS, "deliver what is pending");
  const target = deliveryTarget(into, "deliver what is pending");
  const { limit, batchSize, signal } = options;
  if (limit !== undefined && batchSize !== undefined) {
    throw new TypeError(
      "Cannot deliver what is pending: limit is one claim, so it takes no batchSize; give one of them",
    );
  }
  if (limit !== undefined) requireInteger(limit, 0, 10_000, "the option limit");
  if (batchSize !== undefined) requireInteger(batchSize, 1, 1000, "the option batchSize");
  const now = options.now === undefined ? undefined : instantOf(options.now, "the option now");
  const stop = stopSignal(signal, options.deadline);
  try {
    return await deliverDue(target, {
      worker: workerName(options.workerId),
      limit: limit ?? batchSize ?? target.core.settings.batchSize,
      once: limit !== undefined,
      concurrency: options.concurrency ?? 1,
      graceMs: target.core.settings.orphanAfterMs,
      lane: options.lane ?? null,
      now,
      settleNow: now,
      stop: stop.signal,
    });
  } finally {
    stop.close();
  }
}

/** A checked request to deliver what is due. */
export interface DueRequest {
  readonly worker: string;
  readonly limit: number;
  /** One claim and no more. */
  readonly once: boolean;
  readonly concurrency: number;
  /** How long a row may wait for a process that knows it. */
  readonly graceMs: number;
  readonly lane: string | null;
  readonly ignoreBackoff?: boolean;
  /** The moment for claims; undefined asks the clock at each, so that what is fired meanwhile is due. */
  readonly now: Instant | undefined;
  /** The moment for outcomes, likewise. */
  readonly settleNow: Instant | undefined;
  readonly stop: AbortSignal | undefined;
}

/** Claims and delivers until nothing is due. */
export async function deliverDue({ core, within }: DeliveryTarget, request: DueRequest): Promise<DeliveryCounts> {
  requireInteger(request.concurrency, 1, 1000, "the option concurrency");
  const concurrency = clampedConcurrency(core, request.concurrency);
  const { worker, lane, ignoreBackoff = false, stop } = request;
  requireLane(core, lane);
  // A call has no time to wait for the end of a pause: a lane that defers is left alone until it returns.
  const pauses = new Pauses(() => 0);
  const line = new Line(core, { concurrency, within, pauses, now: request.settleNow, graceMs: request.graceMs });
  // A process that lives long and calls this now and then may know who else lives; see claimOrphans.
  if (!within && request.graceMs > 0) core.announceSometimes();
  let suspects = false;
  try {
    while (!stop?.aborted) {
      const claimedAt = performance.now();
      const now = request.now ?? core.clock.now();
      // A row that lapsed before runs while nothing else is claimed here (see Line.start): more than one is in vain.
      const limit = suspects ? Math.min(1, request.limit) : request.limit;
      const rows = await claimDue(core, { worker, limit, lane, pauses, ignoreBackoff, now }, within?.storageTx);
      // Not inside a caller's transaction: there a test delivers what it fired, and ends nobody's rows.
      if (rows.length === 0 && !request.once && !within && (lane === null || lane === DEFAULT_LANE)) {
        rows.push(
          ...await claimOrphans(core, { worker, limit, graceMs: request.graceMs, now }),
        );
      }
      suspects = rows.some((row) => row.lapses > 0);
      await line.start(rows, claimedAt, stop);
      // Settled before the next claim, so that a retry which is due at once is seen by it.
      await line.idle();
      if (rows.length === 0 || request.once) break;
    }
    return line.counts;
  } finally {
    line.close();
  }
}

function stopSignal(signal: AbortSignal | undefined, deadline: Duration | undefined): {
  signal: AbortSignal | undefined;
  close: () => void;
} {
  if (deadline === undefined) return { signal, close: () => {} };
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), positive(deadline, "the option deadline"));
  return {
    signal: signal ? AbortSignal.any([signal, controller.signal]) : controller.signal,
    close: () => clearTimeout(timer),
  };
}
