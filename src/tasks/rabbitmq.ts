/**
 * Hands deliveries of `site: "task"` over to a RabbitMQ work queue.
 *
 * ```ts no-run
 * import { connect } from "amqplib";
 * import { deliverTask, type Outbox } from "@owed/outbox";
 * import { rabbitmqTasks, workRabbitmqTasks } from "@owed/outbox/rabbitmq-tasks";
 *
 * declare const outbox: Outbox;
 * // In the relay: createOutbox({ tasks, ... }).
 * const tasks = rabbitmqTasks(async () => (await connect("amqp://localhost")).createConfirmChannel(), "deliveries");
 * // In the worker.
 * const channel = await (await connect("amqp://localhost")).createChannel();
 * const stop = await workRabbitmqTasks(channel, "deliveries", (message) => deliverTask(outbox, message));
 * ```
 *
 * @module
 */
import { Buffer } from "node:buffer";
import { systemClock } from "../clock.ts";
import type { TaskBackend, TaskMessage } from "../declaration/task.ts";
import { requireInteger, requireName } from "../declaration/refusals.ts";
import { TaskRefused } from "../errors.ts";
import { errorType, logger } from "../log.ts";

const log = logger(["tasks"]);
// A database that is away would otherwise get the same message thousands of times in a second.
const BACK_AFTER_MS = 1000;

/** What a confirm channel of `amqplib` has to have. */
export interface RabbitmqConfirmChannel {
  /** Declares a queue. */
  // deno-lint-ignore no-explicit-any -- the client's own types of options and answers
  assertQueue(queue: string, options?: any): Promise<any>;
  /** Publishes; the callback is the broker's confirm. */
  sendToQueue(
    queue: string,
    // deno-lint-ignore no-explicit-any -- a Buffer of node:buffer
    content: any,
    // deno-lint-ignore no-explicit-any -- the client's own type of options
    options: any,
    // deno-lint-ignore no-explicit-any -- an Error, or null
    confirmed: (error: any) => void,
  ): boolean;
  /** Tells of messages that found no queue, of errors, and of the channel's end. */
  // deno-lint-ignore no-explicit-any -- whatever the event brings
  on(event: string, listener: (value: any) => void): unknown;
}

/** What a consuming channel of `amqplib` has to have. */
export interface RabbitmqChannel {
  /** Declares a queue. */
  // deno-lint-ignore no-explicit-any -- the client's own types of options and answers
  assertQueue(queue: string, options?: any): Promise<any>;
  /** How many messages may be under way at a time. */
  // deno-lint-ignore no-explicit-any -- the client's own type of answer
  prefetch(count: number): Promise<any>;
  /** Consumes. */
  // deno-lint-ignore no-explicit-any -- the client's own types of messages and answers
  consume(queue: string, onMessage: (message: any) => void): Promise<{ consumerTag: string }>;
  /** Tells the broker that a message is done. */
  // deno-lint-ignore no-explicit-any -- the client's own type of message
  ack(message: any): void;
  /** Gives a message back, or drops it. */
  // deno-lint-ignore no-explicit-any -- the client's own type of message
  nack(message: any, allUpTo?: boolean, requeue?: boolean): void;
  /** Stops consuming. */
  // deno-lint-ignore no-explicit-any -- the client's own type of answer
  cancel(consumerTag: string): Promise<any>;
}

/**
 * A task backend over a durable work queue; each message is persistent, and enqueued once the broker has confirmed it.
 *
 * @param channel a confirm channel, or a function that opens one: it is asked at the first message, and again after the
 * channel has ended or failed, since the client does not reconnect by itself
 * @param queue the queue's name; declared durable at the first message of each channel
 * @throws {TypeError} for a blank name
 *
 * @example
 * ```ts no-run
 * import { connect } from "amqplib";
 * import { rabbitmqTasks } from "@owed/outbox/rabbitmq-tasks";
 *
 * const tasks = rabbitmqTasks(async () => (await connect("amqp://localhost")).createConfirmChannel(), "deliveries");
 * console.log(typeof tasks.enqueue); // function
 * ```
 */
export function rabbitmqTasks(
  channel: RabbitmqConfirmChannel | (() => Promise<RabbitmqConfirmChannel>),
  queue: string,
): TaskBackend {
  requireName(queue, "make a task backend", "its queue");
  const open = typeof channel === "function" ? channel : () => Promise.resolve(channel);
  let sender: Promise<Sender> | undefined;
  return {
    async enqueue(message, { signal }) {
      const current = sender ??= open().then((opened) => Sender.on(opened, queue));
      try {
        await (await current).send(message, signal);
      } catch (error) {
        // Whatever it was, the next message begins anew.
        if (sender === current) sender = undefined;
        throw error;
      }
    },
  };
}

const watched = new WeakSet<RabbitmqConfirmChannel>();
const returned = new WeakMap<RabbitmqConfirmChannel, Set<string>>();

/** One channel on which the queue was declared. */
class Sender {
  readonly #channel: RabbitmqConfirmChannel;
  readonly #queue: string;

  private constructor(channel: RabbitmqConfirmChannel, queue: string) {
    this.#channel = channel;
    this.#queue = queue;
  }

  static async on(channel: RabbitmqConfirmChannel, queue: string): Promise<Sender> {
    if (!watched.has(channel)) {
      watched.add(channel);
      returned.set(channel, new Set());
      channel.on("return", ({ properties }) => void returned.get(channel)!.add(String(properties?.messageId)));
      // Without a listener it would end the process; the messages under way are rejected anyhow.
      channel.on("error", (error) => {
        log.warn("the channel of the task queue {queue} failed ({error})", { queue, error: errorType(error) });
      });
    }
    await channel.assertQueue(queue, { durable: true });
    return new Sender(channel, queue);
  }

  async send(message: TaskMessage, signal: AbortSignal): Promise<void> {
    const messageId = `${message.deliveryId}-${message.claimedAt}`;
    await new Promise<void>((resolve, reject) => {
      signal.throwIfAborted();
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      const properties = { persistent: true, mandatory: true, contentType: "application/json", messageId };
      const confirmed = (error: unknown) => error ? reject(error) : resolve();
      this.#channel.sendToQueue(this.#queue, Buffer.from(JSON.stringify(message)), properties, confirmed);
    });
    // The broker confirms what it could put nowhere too, after it has given it back.
    if (returned.get(this.#channel)!.delete(messageId)) {
      throw new Error(`Cannot hand a task over: the queue "${this.#queue}" is gone`);
    }
  }
}

/** Options of {@linkcode workRabbitmqTasks}. */
export interface RabbitmqWorkOptions {
  /** Messages that are worked at a time, 1 to 1000. Default 10. */
  readonly concurrency?: number;
}

/**
 * Works off a queue of tasks: acknowledges a message when its delivery was run or there was nothing to run, drops one
 * of another shape with a line in the log, and gives one back to the broker, after a moment, when the database did not
 * answer.
 *
 * @param work runs one message, mostly `(message) => deliverTask(outbox, message)`
 * @returns stops consuming, and waits for what is under way
 * @throws the broker's error when it does not answer, or has the queue with other properties
 *
 * @example
 * ```ts no-run
 * import { connect } from "amqplib";
 * import { deliverTask, type Outbox } from "@owed/outbox";
 * import { workRabbitmqTasks } from "@owed/outbox/rabbitmq-tasks";
 *
 * declare const outbox: Outbox;
 * const channel = await (await connect("amqp://localhost")).createChannel();
 * const stop = await workRabbitmqTasks(channel, "deliveries", (message) => deliverTask(outbox, message));
 * ```
 */
export async function workRabbitmqTasks(
  channel: RabbitmqChannel,
  queue: string,
  work: (message: TaskMessage) => Promise<unknown>,
  options: RabbitmqWorkOptions = {},
): Promise<() => Promise<void>> {
  const { concurrency = 10 } = options;
  requireName(queue, "work off tasks", "the queue");
  requireInteger(concurrency, 1, 1000, "the option concurrency");
  await channel.assertQueue(queue, { durable: true });
  await channel.prefetch(concurrency);
  const stopping = new AbortController();
  const underWay = new Set<Promise<void>>();
  const { consumerTag } = await channel.consume(queue, (message: Incoming | null) => {
    if (message === null) return log.error("the task queue {queue} was deleted: nothing comes from it", { queue });
    const working = one(channel, message, work, stopping.signal).finally(() => underWay.delete(working));
    underWay.add(working);
  });
  return async () => {
    stopping.abort();
    await channel.cancel(consumerTag);
    await Promise.all(underWay);
  };
}

interface Incoming {
  readonly content: Uint8Array;
}

async function one(
  channel: RabbitmqChannel,
  message: Incoming,
  work: (message: TaskMessage) => Promise<unknown>,
  stopping: AbortSignal,
): Promise<void> {
  let answer = () => channel.ack(message);
  try {
    await work(parsed(message));
  } catch (error) {
    // What no relay can have written will not become a task: the delivery, if there is one, comes back by its lease.
    const isForeign = error instanceof TaskRefused;
    log.warn("a task message could not be worked ({error}); it is {fate}", {
      error: errorType(error),
      fate: isForeign ? "dropped" : "given back to the broker",
    });
    answer = () => channel.nack(message, false, !isForeign);
    if (!isForeign) await systemClock.sleep(BACK_AFTER_MS, stopping);
  }
  try {
    answer();
  } catch (error) {
    // The channel has ended meanwhile: the broker brings the message again, and then there is nothing to run.
    log.debug("a task message could not be answered ({error})", { error: errorType(error) });
  }
}

function parsed({ content }: Incoming): TaskMessage {
  try {
    return JSON.parse(new TextDecoder().decode(content));
  } catch {
    throw new TaskRefused("the message is no JSON");
  }
}
