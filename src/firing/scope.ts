import { type AnyEventDefinition, isEvent } from "../declaration/event.ts";
import { uuidv7 } from "../uuid.ts";
import { refuseUnknown, requireName, show } from "../declaration/refusals.ts";
import { type Ambient, ambient, chainOf, NO_SCOPE, type ScopeValues, surrounded } from "./ambient.ts";

/** Who causes what is fired, and facts about it. */
export interface Attribution {
  /**
   * Who, such as `"user:42"`; stored with at most 255 characters. Actor and label are one unit: naming either replaces
   * both.
   */
  readonly actor?: string;
  /** A display name as it is today; stored with at most 255 characters. */
  readonly actorLabel?: string;
  /**
   * The chain that the events belong to, a UUID or any text of at most 255 characters. Default: the surrounding one,
   * else a new one. Inside a receiver the chain is always that of its event.
   */
  readonly correlationId?: string;
  /** Facts for the events' rows, JSON. Inner blocks add to outer ones, and win where both name one. */
  readonly facts?: Readonly<Record<string, unknown>>;
}

/** What surrounds the code that runs now. Frozen, so that whoever gets it cannot change later events. */
export interface Scope {
  /** Who, if anybody was named. */
  readonly actor: string | undefined;
  /** The display name, if any. */
  readonly actorLabel: string | undefined;
  /** The chain, if there is one. */
  readonly correlationId: string | undefined;
  /** The event that causes what is fired here, if any. */
  readonly causationId: string | undefined;
  /** The facts. */
  readonly facts: Readonly<Record<string, unknown>>;
}

/** Options of {@linkcode suppressed}. */
export interface SuppressionOptions {
  /** Why; stored on the rows. */
  readonly reason: string;
  /** The events that are not delivered. Default: all. */
  readonly events?: readonly AnyEventDefinition[];
  /** Whether they are recorded without debts, or discarded: then `fire` gives null. Default true. */
  readonly record?: boolean;
}

/**
 * Runs work whose events name who caused them. What counts is where `fire` is called: the values are stored on the row,
 * and receivers read them there.
 *
 * @returns what the work returns
 * @throws {TypeError} when a fact is no JSON or an option does not exist, before the work starts
 * @throws whatever the work throws
 *
 * @example A request handler
 * ```ts
 * import { attributed, currentScope } from "@owed/outbox";
 *
 * await attributed({ actor: "user:42", actorLabel: "Ann", facts: { ip: "192.0.2.1" } }, async () => {
 *   console.log(currentScope().actor); // user:42
 *   // await placeOrder();
 * });
 * ```
 */
export function attributed<R>(by: Attribution, work: () => R): R {
  refuseUnknown(by, ["actor", "actorLabel", "correlationId", "facts"], "attribute");
  const outer = ambient();
  const scope = outer?.scope ?? NO_SCOPE;
  const named = by.actor !== undefined || by.actorLabel !== undefined;
  return surrounded(
    layer(outer, {
      ...scope,
      actor: named ? cut(by.actor, "actor") : scope.actor,
      actorLabel: named ? cut(by.actorLabel, "actorLabel") : scope.actorLabel,
      correlationId: cut(by.correlationId, "correlationId") ?? scope.correlationId ?? outer?.cause?.correlationId ??
        uuidv7(),
      facts: Object.freeze({ ...scope.facts, ...json(by.facts ?? {}) }),
    }),
    work,
  );
}

/**
 * Runs work whose events are not delivered: recorded with the reason and without debts, or discarded. No inline
 * receiver runs, no on-commit one, no targets are asked. Blocks add up: an inner one cannot undo an outer one, the
 * innermost reason is stored, and any block that discards wins.
 *
 * @returns what the work returns
 * @throws {TypeError} for a missing reason, an option that does not exist, or something in `events` that is no declared
 * event; before the work starts
 * @throws whatever the work throws
 *
 * @example A backfill
 * ```ts
 * import { event, suppressed } from "@owed/outbox";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * await suppressed({ events: [OrderPlaced], reason: "import of 2019" }, async () => {
 *   // await importOrders();
 * });
 * ```
 */
export function suppressed<R>(options: SuppressionOptions, work: () => R): R {
  refuseUnknown(options, ["reason", "events", "record"], "suppress events");
  const { reason, events, record = true } = options;
  if (typeof reason !== "string" || reason.trim() === "") {
    throw new TypeError("Cannot suppress events: a reason is needed, it is stored on their rows");
  }
  if (events !== undefined && !(Array.isArray(events) && events.every(isEvent))) {
    throw new TypeError("Cannot suppress events: events must be a list of what event() returned");
  }
  // "false" would record what is to be discarded.
  if (typeof record !== "boolean") {
    throw new TypeError(`Cannot suppress events: record must be true or false, got ${show(record)}`);
  }
  const outer = ambient();
  const scope = outer?.scope ?? NO_SCOPE;
  const names = events && new Set(events.map((event) => event.name));
  const suppressions = [...scope.suppressions, { names, reason: cut(reason, "reason")!, record }];
  return surrounded(layer(outer, { ...scope, suppressions }), work);
}

/**
 * Runs work whose events name another event as their cause: for code that continues what an event started outside of
 * its receiver.
 *
 * @param eventId the cause
 * @param work the code
 * @param correlationId the chain. Default: the surrounding one, else the cause itself
 * @returns what the work returns
 * @throws {TypeError} for an id that is blank or could not be stored, before the work starts
 * @throws whatever the work throws
 *
 * @example A webhook that answers an event
 * ```ts
 * import { causedBy, currentScope } from "@owed/outbox";
 *
 * causedBy("01890a5d-ac96-774b-bcce-b302099a8057", () => {
 *   console.log(currentScope().causationId);
 * });
 * ```
 */
export function causedBy<R>(eventId: string, work: () => R, correlationId?: string): R {
  requireName(eventId, "name a cause", "the event's id");
  const outer = ambient();
  const chain = cut(correlationId, "correlationId") ?? outer?.scope.correlationId ?? eventId;
  const cause = { eventId, correlationId: chain, receiverKey: "", durable: false };
  return surrounded({ ...layer(outer, outer?.scope ?? NO_SCOPE), cause }, work);
}

/**
 * What surrounds the code that runs now; all absent outside of any block and any receiver.
 *
 * @example A line of a log that names who caused it
 * ```ts
 * import { attributed, currentScope } from "@owed/outbox";
 *
 * attributed({ actor: "user:42" }, () => console.log(currentScope().actor)); // user:42
 * console.log(currentScope().actor); // undefined
 * ```
 */
export function currentScope(): Scope {
  const here = ambient();
  const scope = here?.scope ?? NO_SCOPE;
  const { actor, actorLabel, facts } = scope;
  return Object.freeze({
    actor,
    actorLabel,
    facts,
    correlationId: chainOf(here?.cause, scope),
    causationId: here?.cause?.eventId,
  });
}

/**
 * Keeps what surrounds this call, for code that the runtime does not connect with it: a worker thread's answer, an
 * event emitter, a queue in memory. Usable any number of times.
 *
 * @returns a function that runs work with these surroundings
 *
 * @example A callback that comes from elsewhere
 * ```ts
 * import { attributed, captureScope, currentScope } from "@owed/outbox";
 *
 * const run = attributed({ actor: "user:42" }, () => captureScope());
 * run(() => console.log(currentScope().actor)); // user:42
 * ```
 */
export function captureScope(): <R>(work: () => R) => R {
  const here = ambient();
  // Not the transaction: it will have ended.
  const kept: Ambient = { cause: here?.cause, scope: here?.scope ?? NO_SCOPE, transaction: undefined };
  return (work) => surrounded(kept, work);
}

function layer(outer: Ambient | undefined, scope: ScopeValues): Ambient {
  // The very object of the surrounding transaction, so that opening one is seen through all layers.
  return { cause: outer?.cause, transaction: outer?.transaction, scope };
}

function cut(text: string | undefined, what: string): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (typeof text !== "string") throw new TypeError(`Cannot attribute: ${what} must be a string, got ${typeof text}`);
  // Cut first, since the cut may halve a surrogate pair. Postgres would refuse either in the caller's transaction.
  return text.slice(0, 255).toWellFormed().replaceAll("\0", "\ufffd");
}

// Checked here and not at fire, where the stack no longer shows who gave them; a frozen copy, so that neither the
// giver nor whoever reads the scope changes what later events store.
function json(facts: Readonly<Record<string, unknown>>): Record<string, unknown> {
  try {
    const text = JSON.stringify(facts);
    if (typeof facts === "object" && facts !== null && !Array.isArray(facts)) {
      return JSON.parse(text, (_, value) => Object.freeze(value));
    }
  } catch (cause) {
    throw new TypeError("Cannot attribute: facts must be JSON", { cause });
  }
  throw new TypeError("Cannot attribute: facts must be an object of JSON values");
}
