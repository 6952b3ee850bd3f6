import { type Core, inside } from "../core.ts";
import type { DeliveryContext, Tx } from "../declaration/context.ts";
import type { EventInstance } from "../declaration/event.ts";
import { refuseUnknown, show } from "../declaration/refusals.ts";
import type { InstantLike } from "../instant.ts";
import { logger } from "../log.ts";
import type { Outbox } from "../core.ts";
import { ambient } from "./ambient.ts";
import { fireInto } from "./fire_into.ts";
import type { FiringSource } from "./transaction.ts";

const log = logger(["firing"]);

/** Where an event is fired: a transaction, a receiver's context, or an outbox (which opens a transaction for it). */
export type FireInto = Tx | DeliveryContext | Outbox;

/** Options of {@linkcode fire}. */
export interface FireOptions {
  /** Makes the event unique: a second one of this name with this key is not written. At most 255 characters. */
  readonly dedupeKey?: string;
  /** What a taken dedupe key does: throw {@linkcode DuplicateEvent}, or give the id that is there. Default `"throw"`. */
  readonly onDuplicate?: "throw" | "ignore";
  /** When the fact happened, for a backfill. Default: now. */
  readonly occurredAt?: InstantLike;
  /** Once it has aborted, nothing is written; rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Options of {@linkcode fireAll}. */
export interface FireAllOptions extends Omit<FireOptions, "dedupeKey"> {
  /** Gives the dedupe key of each event, or undefined for one without. */
  readonly dedupeKey?: (event: EventInstance, index: number) => string | undefined;
}

/**
 * Writes an event and one debt per durable receiver in the caller's transaction, in one statement. Inline receivers
 * run before it returns; everything else happens after the commit.
 *
 * @param into the transaction; inside a receiver its context, so that the child commits with the acknowledgement
 * @param event what a declared event returned for a payload
 * @returns the event's id (UUID v7); null when it was discarded
 * @throws {PayloadRefused} when the payload is no JSON or does not fit the schema; nothing was written
 * @throws {DuplicateEvent} when the dedupe key is taken; nothing was written
 * @throws {TypeError} for an event that this outbox does not declare; nothing was written
 * @throws whatever an inline receiver throws: a veto, after which the transaction cannot commit
 *
 * @example In a transaction of the outbox
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, event, fire } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [], events: [OrderPlaced] });
 * const id = await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * console.log(id);
 * ```
 */
export function fire(into: FireInto, event: EventInstance, options: FireOptions = {}): Promise<string | null> {
  const { dedupeKey, ...rest } = options;
  return fireEvents(
    into,
    [event],
    dedupeKey === undefined ? rest : { ...rest, dedupeKey: () => dedupeKey },
    ([id]) => id!,
  );
}

/**
 * Fires any number of events in one round trip.
 *
 * @param into as for {@linkcode fire}
 * @param events the events, in the order in which they happened
 * @returns their ids in the same order
 * @throws as {@linkcode fire} does; nothing of any of them was written then
 *
 * @example An import
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { createOutbox, event, fireAll } from "@owed/outbox";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const storage = libsqlStorage(createClient({ url: ":memory:" }));
 * await using outbox = createOutbox({ storage, receivers: [], events: [OrderPlaced] });
 * const orders = [1, 2, 3].map((orderId) => OrderPlaced({ orderId }));
 * await outbox.transaction((tx) => fireAll(tx, orders));
 * ```
 */
export function fireAll(
  into: FireInto,
  events: readonly EventInstance[],
  options: FireAllOptions = {},
): Promise<(string | null)[]> {
  return fireEvents(into, events, options, (ids) => ids);
}

// Not async, and nothing chained to it: the transaction keeps the very promise that the caller gets, see TxScope.track.
function fireEvents<R>(
  into: FireInto,
  events: readonly EventInstance[],
  options: FireAllOptions,
  answer: (ids: (string | null)[]) => R,
): Promise<R> {
  const source = (into as { [inside]?: FiringSource } | null | undefined)?.[inside];
  if (source === undefined) {
    return Promise.reject(
      new TypeError("Cannot fire: the first argument must be an outbox, a transaction of one, or a receiver's context"),
    );
  }
  try {
    refuseOptions(options);
    options.signal?.throwIfAborted();
  } catch (error) {
    return Promise.reject(error);
  }
  if (source.outside) warnOutside(source.core, events);
  const cause = source.cause ?? ambient()?.cause;
  return source.fireIn(async (scope) => answer(await fireInto(scope, cause, events, options)));
}

// A misspelt dedupeKey would fire twice without a word.
function refuseOptions(options: FireAllOptions): void {
  refuseUnknown(options, ["dedupeKey", "onDuplicate", "occurredAt", "signal"], "fire");
  const { dedupeKey, onDuplicate = "throw" } = options;
  if (dedupeKey !== undefined && typeof dedupeKey !== "function") {
    throw new TypeError(`Cannot fire: dedupeKey of fireAll is a function of each event, got ${show(dedupeKey)}`);
  }
  if (onDuplicate !== "throw" && onDuplicate !== "ignore") {
    throw new TypeError(`Cannot fire: onDuplicate must be "throw" or "ignore", got ${show(onDuplicate)}`);
  }
}

const warned = new WeakMap<Core, Set<string>>();

function warnOutside(core: Core, events: readonly EventInstance[]): void {
  const name = events[0]?.definition?.name ?? "(none)";
  const cause = ambient()?.cause;
  if (cause?.durable) {
    // Always: a retry of the receiver fires it once more.
    log.warn(
      "receiver {receiver} fired {event} outside its transaction; a retry fires it again, so fire it with ctx instead",
      { receiver: cause.receiverKey, event: name },
    );
    return;
  }
  if (!core.settings.warnOutsideTransaction) return;
  const names = warned.get(core) ?? new Set();
  warned.set(core, names);
  if (names.has(name)) return;
  names.add(name);
  log.warn("{event} was fired outside a transaction: it is recorded whether or not the change it describes is", {
    event: name,
  });
}
