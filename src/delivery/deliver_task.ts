import { type Core, coreOf, type Outbox } from "../core.ts";
import type { TaskMessage } from "../declaration/task.ts";
import { TaskRefused } from "../errors.ts";
import { logger } from "../log.ts";
import { isDeliveryId } from "../storage/delivery_id.ts";
import type { ClaimedDelivery } from "../storage/records.ts";
import { leaseOf } from "./claim.ts";
import { Line } from "./line.ts";
import { workerName } from "./worker.ts";

const log = logger(["delivery"]);

/** Options of {@linkcode deliverTask}. */
export interface DeliverTaskOptions {
  /** Does not start once it has aborted. */
  readonly signal?: AbortSignal;
  /** Shown in the database as the one who holds it. Default: `task`, host and process id. */
  readonly workerId?: string;
}

/**
 * Runs a delivery that was handed over, in the worker of a queue: takes the row under exactly the claim that the
 * message names, in a commit of its own, and runs its receiver. A message that comes twice, late, or for a claim that
 * somebody else holds by now runs nothing.
 *
 * @returns what the attempt made of the row; null when nothing was run
 * @throws {TaskRefused} for a message of another shape or version: let the queue set it aside, the lease brings the
 * delivery back
 * @throws the database's error when it does not answer: let the queue deliver the message again
 *
 * @example In a worker
 * ```ts
 * import { deliverTask, type Outbox, type TaskMessage } from "@owed/outbox";
 *
 * async function work(outbox: Outbox, message: TaskMessage) {
 *   console.log(await deliverTask(outbox, message) ?? "nothing to do");
 * }
 * console.log(typeof work); // function
 * ```
 */
export async function deliverTask(
  outbox: Outbox,
  message: TaskMessage,
  options: DeliverTaskOptions = {},
): Promise<"succeeded" | "failed" | "dead" | "pending" | null> {
  const core = coreOf(outbox, "deliver a task");
  const checked = checkedMessage(message);
  options.signal?.throwIfAborted();
  const startedAt = performance.now();
  const delivery = await take(core, checked, workerName(options.workerId, "task-"));
  if (delivery === null) return null;
  const line = new Line(core, { concurrency: 1, atTask: true });
  try {
    await line.start([delivery], startedAt);
    await line.idle();
  } finally {
    line.close();
  }
  const [status] = Object.keys(line.counts);
  return (status as "succeeded" | "failed" | "dead" | "pending" | undefined) ?? null;
}

async function take(core: Core, message: TaskMessage, worker: string): Promise<ClaimedDelivery | null> {
  const { deliveryId, claimedBy, claimedAt } = message;
  const [row] = await core.storage.findDeliveries({ deliveryId });
  // Left to its lease, and not orphaned: the relay that handed it over does list the receiver.
  if (row && core.registry.receivers.get(row.receiverKey)?.policy.mode !== "durable") {
    log.error("this worker does not list receiver {receiver} of delivery {delivery}: nothing is run", {
      receiver: row.receiverKey,
      delivery: deliveryId,
    });
    return null;
  }
  const taken = row && await core.storage.take({
    fence: { id: deliveryId, claimedBy, claimedAt: BigInt(claimedAt) },
    worker,
    leaseMs: leaseOf(core, row.receiverKey),
    now: core.clock.now(),
  });
  if (taken) return taken;
  log.warn("delivery {delivery} is not claimed as its message says (settled, given back, or taken): nothing is run", {
    delivery: deliveryId,
  });
  return null;
}

// Half a claim must not degrade to a run without one; and what a database would choke on is no database's fault.
function checkedMessage(message: TaskMessage): TaskMessage {
  const given = message as Partial<Record<keyof TaskMessage, unknown>> | null | undefined;
  if (typeof given !== "object" || given === null) throw new TaskRefused("the message is no object");
  const { v, deliveryId, claimedBy, claimedAt } = given;
  if (v !== 1) throw new TaskRefused("the message is of another version");
  if (!isNumber(deliveryId)) throw new TaskRefused("its deliveryId is no id");
  if (!isNumber(claimedAt)) throw new TaskRefused("its claimedAt is no moment");
  if (typeof claimedBy !== "string" || claimedBy === "" || claimedBy.includes("\0") || !claimedBy.isWellFormed()) {
    throw new TaskRefused("its claimedBy names no worker");
  }
  return { v, deliveryId, claimedBy, claimedAt };
}

// Both fit in the 64 bits that an id has.
function isNumber(value: unknown): value is string {
  return typeof value === "string" && isDeliveryId(value);
}
