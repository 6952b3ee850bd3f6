/**
 * Hands deliveries of `site: "task"` over to a BullMQ queue.
 *
 * ```ts no-run
 * import { Queue, Worker } from "bullmq";
 * import { Redis } from "ioredis";
 * import { createOutbox, deliverTask, type Outbox } from "@owed/outbox";
 * import { bullmqTasks } from "@owed/outbox/bullmq";
 *
 * declare const outbox: Outbox;
 * const connection = new Redis("redis://127.0.0.1:6379", { maxRetriesPerRequest: null });
 * const tasks = bullmqTasks(new Queue("deliveries", { connection })); // createOutbox({ tasks, ... })
 * new Worker("deliveries", (job) => deliverTask(outbox, job.data), { connection });
 * ```
 *
 * @module
 */
import { requireName } from "../declaration/refusals.ts";
import type { TaskBackend } from "../declaration/task.ts";

/** What a BullMQ `Queue` has to have. */
export interface BullmqQueue {
  /** Adds a job. */
  // deno-lint-ignore no-explicit-any -- the queue's own type of data and options
  add(name: string, data: any, options?: any): Promise<unknown>;
}

/** Options of {@linkcode bullmqTasks}. */
export interface BullmqTasksOptions {
  /** The job's name. Default `"owed.delivery"`. */
  readonly jobName?: string;
}

/**
 * A task backend over a BullMQ queue. The job's id is the claim, so that a message which is enqueued again is one job;
 * its attempts are left to the outbox, which has the debt, and what has ended is removed. A Redis that is away keeps
 * the queue waiting by default; the delivery is given back after its lease, or sooner with `enableOfflineQueue: false`
 * in its client's options.
 *
 * @throws {TypeError} for a blank job name
 *
 * @example
 * ```ts no-run
 * import { Queue } from "bullmq";
 * import { Redis } from "ioredis";
 * import { bullmqTasks } from "@owed/outbox/bullmq";
 *
 * const connection = new Redis("redis://127.0.0.1:6379", { maxRetriesPerRequest: null });
 * const tasks = bullmqTasks(new Queue("deliveries", { connection }));
 * ```
 */
export function bullmqTasks(queue: BullmqQueue, options: BullmqTasksOptions = {}): TaskBackend {
  const { jobName = "owed.delivery" } = options;
  requireName(jobName, "make a task backend", "its jobName");
  return {
    async enqueue(message) {
      await queue.add(jobName, message, {
        jobId: `${message.deliveryId}-${message.claimedAt}`,
        attempts: 1,
        removeOnComplete: true,
        removeOnFail: true,
      });
    },
  };
}
