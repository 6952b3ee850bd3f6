import type { Tx } from "../declaration/context.ts";
import { refuseUnknown } from "../declaration/refusals.ts";
import type { Outbox } from "../core.ts";
import { claimable } from "./claim.ts";
import { Line } from "./line.ts";
import { deliveryTarget } from "../firing/target.ts";
import { workerName } from "./worker.ts";

/** Options of {@linkcode deliverOne}. */
export interface DeliverOneOptions {
  /** Does not start once it has aborted. */
  readonly signal?: AbortSignal;
  /** Shown in the database as the one who claims. Default: host and process id. */
  readonly workerId?: string;
}

/**
 * Makes one attempt at one delivery, here, whatever its site: a pending one whatever its place in the queue, a failed
 * one once its wait is over.
 *
 * @param into an outbox, or a transaction of one
 * @param deliveryId the delivery's id, as `ctx.deliveryId` and the logs give it
 * @returns what the attempt made of the row; null when it was not run: settled, not due, unknown here, or held by
 * another worker
 * @throws the database's error when it does not answer
 *
 * @example Run a delivery now
 * ```ts
 * import { deliverOne, type Outbox } from "@owed/outbox";
 *
 * async function retryNow(outbox: Outbox, deliveryId: string) {
 *   const status = await deliverOne(outbox, deliveryId);
 *   return status ?? "not owed now";
 * }
 * console.log(typeof retryNow);
 * ```
 */
export async function deliverOne(
  into: Outbox | Tx,
  deliveryId: string,
  options: DeliverOneOptions = {},
): Promise<"succeeded" | "failed" | "dead" | "pending" | null> {
  refuseUnknown(options, ["signal", "workerId"], "deliver one");
  const { core, within } = deliveryTarget(into, "deliver one");
  if (typeof deliveryId !== "string" || !/^\d{1,19}$/.test(deliveryId)) {
    throw new TypeError("Cannot deliver one: deliveryId must be a string of digits");
  }
  // No database has such a row, and Postgres would refuse to look for it.
  if (BigInt(deliveryId) > 2n ** 63n - 1n) return null;
  options.signal?.throwIfAborted();
  const now = core.clock.now();
  const claimedAt = performance.now();
  const rows = await core.storage.claimOnly({
    worker: workerName(options.workerId),
    receivers: claimable(core, core.registry.durableKeys),
    only: { deliveryIds: [deliveryId] },
    now,
  }, within?.storageTx);
  const line = new Line(core, { concurrency: 1, within, now, atTask: true });
  try {
    await line.start(rows, claimedAt);
    await line.idle();
  } finally {
    line.close();
  }
  const [status] = Object.keys(line.counts);
  return (status as "succeeded" | "failed" | "dead" | "pending" | undefined) ?? null;
}
