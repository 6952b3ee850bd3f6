import { type Clock, systemClock } from "./clock.ts";
import { type Core, inside, type Join, type Outbox, type TransactionOptions } from "./core.ts";
import type { AroundDelivery } from "./declaration/around.ts";
import type { Tx } from "./declaration/context.ts";
import type { AnyEventDefinition } from "./declaration/event.ts";
import type { Receiver } from "./declaration/receiver.ts";
import { buildRegistry, type Registry } from "./declaration/registry.ts";
import { resolveSettings, type Settings } from "./declaration/settings.ts";
import { refuseUnknown, requireName } from "./declaration/refusals.ts";
import type { TaskBackend } from "./declaration/task.ts";
import { Announcer } from "./firing/announcer.ts";
import { claimEager } from "./delivery/eager.ts";
import { joinTransactions } from "./firing/joining.ts";
import { ownTransaction } from "./firing/own_transaction.ts";
import type { FiringSource } from "./firing/transaction.ts";
import { Waker } from "./firing/wake.ts";
import type { Storage } from "./storage/storage.ts";

const OPTIONS = [
  "storage",
  "receivers",
  "events",
  "settings",
  "app",
  "release",
  "aroundDelivery",
  "traceContext",
  "tasks",
];

/** What {@linkcode createOutbox} takes. */
export interface OutboxOptions<Client = unknown> {
  /** The database: `postgresStorage(...)` or `libsqlStorage(...)`. */
  readonly storage: Storage<Client>;
  /** Everybody who listens; the same list in the process that fires and in the relay. */
  readonly receivers: readonly Receiver<Client>[];
  /** Declared events that no listed receiver names. */
  readonly events?: readonly AnyEventDefinition[];
  /** See {@linkcode Settings}. */
  readonly settings?: Settings;
  /** The application's name, under which its receivers are recorded. Default `"app"`. */
  readonly app?: string;
  /** The application's release, recorded beside it. Default: none. */
  readonly release?: string;
  /** Runs around each durable attempt; several are composed with `composeAround`. */
  readonly aroundDelivery?: AroundDelivery;
  /** Gives the trace that a fire belongs to, stored with the event: `traceparent` and `tracestate`. */
  readonly traceContext?: () => Readonly<Record<string, string>>;
  /** The queue for receivers of `site: "task"`. */
  readonly tasks?: TaskBackend;
}

/**
 * Binds receivers to a database: the one place that says who listens.
 *
 * @throws {TypeError | RangeError} for two receivers under one key, two events under one name, an unknown option,
 * or a setting out of range, naming it and what is allowed
 *
 * @example In memory, for a test
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, deliverPending, event, fire, receiver } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const greet = receiver(OrderPlaced, "greet", (order) => console.log("order", order.orderId));
 *
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [greet] });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * await deliverPending(outbox);
 * ```
 */
export function createOutbox<Client>(options: OutboxOptions<Client>): Outbox<Client> {
  return buildOutbox(options, systemClock);
}

/** As `createOutbox`, with a clock of the caller's: for the testing room. */
export function buildOutbox<Client>(options: OutboxOptions<Client>, clock: Clock): Outbox<Client> {
  refuseUnknown(options, OPTIONS, "build the outbox");
  const { storage, receivers, events = [], settings = {} } = options;
  if (typeof storage?.claim !== "function") {
    throw new TypeError("Cannot build the outbox: storage must be what postgresStorage() or libsqlStorage() returned");
  }
  const resolved = resolveSettings(settings);
  const registry = buildRegistry(receivers as readonly Receiver[], events);
  const { app = "app", release = "" } = options;
  requireName(app, "build the outbox", "app");
  if (options.release !== undefined) requireName(release, "build the outbox", "release");
  const { aroundDelivery, traceContext, tasks } = options;
  requireFunction(aroundDelivery, "aroundDelivery");
  requireFunction(traceContext, "traceContext");
  requireTasks(registry, tasks);
  const announcement = { app, release, receivers: registry.durableKeys };
  const announcer = new Announcer(storage, announcement, resolved.orphanAfterMs, clock);
  const waker = new Waker(storage, resolved.notifyCoalesceMs);
  const core: Core<Client> = {
    storage,
    registry,
    settings: resolved,
    clock,
    wake: () => resolved.wake === "notify" && waker.wake(),
    eager: (eventIds, keys) => claimEager(core as Core, eventIds, keys),
    announce: () => announcer.announce(),
    announcingForMs: () => announcer.announcingForMs,
    announceSometimes: () => announcer.announceSometimes(core.background),
    traceContext: () => traceText(traceContext),
    aroundDelivery,
    tasks,
    background: new Set(),
  };
  return new BoundOutbox(core, waker);
}

function requireFunction(value: unknown, option: string): void {
  if (value === undefined || typeof value === "function") return;
  throw new TypeError(`Cannot build the outbox: ${option} must be a function, got ${typeof value}`);
}

// A row that nobody can hand over would be found out at its delivery, long after the mistake.
function requireTasks(registry: Registry, tasks: TaskBackend | undefined): void {
  if (tasks !== undefined && typeof tasks?.enqueue !== "function") {
    throw new TypeError("Cannot build the outbox: tasks must have a method enqueue");
  }
  if (tasks !== undefined) return;
  const [first] = [...registry.receivers.values()].filter((receiver) => receiver.policy.site === "task");
  if (first === undefined) return;
  throw new TypeError(
    `Cannot build the outbox: receiver "${first.key}" has site "task", and no task backend is given in tasks`,
  );
}

// Whatever a tracer does, it must not fail a fire.
function traceText(traceContext: OutboxOptions["traceContext"]): string | null {
  if (traceContext === undefined) return null;
  try {
    const carrier = traceContext();
    return Object.keys(carrier).length === 0 ? null : JSON.stringify(carrier);
  } catch {
    return null;
  }
}

class BoundOutbox<Client> implements Outbox<Client> {
  readonly storage: Storage<Client>;
  readonly [inside]: FiringSource;
  readonly #core: Core<Client>;
  readonly #waker: Waker;
  #closing: Promise<void> | undefined;

  constructor(core: Core<Client>, waker: Waker) {
    this.#core = core;
    this.#waker = waker;
    this.storage = core.storage;
    this[inside] = {
      core: core as Core,
      outside: true,
      fireIn: (work) => ownTransaction(core as Core, work),
    };
  }

  transaction<R>(work: (tx: Tx<Client>) => Promise<R> | R, options: TransactionOptions = {}): Promise<R> {
    return ownTransaction(this.#core, work, options.signal);
  }

  joining<R>(work: (join: Join<Client>) => Promise<R>, options: TransactionOptions = {}): Promise<R> {
    return joinTransactions(this.#core, work, options.signal);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    while (this.#core.background.size > 0) await Promise.all(this.#core.background);
    this.#waker.flush();
    await this.#core.storage.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}
