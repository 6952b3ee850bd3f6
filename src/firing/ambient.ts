import { AsyncLocalStorage } from "node:async_hooks";
import type { Core } from "../core.ts";

/** The event for which a receiver runs: what it fires is caused by it. */
export interface Cause {
  readonly eventId: string;
  /** The chain of the event; its own id starts one where it has none. */
  readonly correlationId: string;
  readonly receiverKey: string;
  /** Whether the receiver has a row, so that firing outside its transaction can happen twice. */
  readonly durable: boolean;
}

/** Events that are not to be delivered. */
export interface Suppressed {
  /** Names of events, or undefined for all. */
  readonly names: ReadonlySet<string> | undefined;
  readonly reason: string;
  readonly record: boolean;
}

/** What the blocks around the running code say of events that are fired in it. */
export interface ScopeValues {
  readonly actor: string | undefined;
  readonly actorLabel: string | undefined;
  readonly correlationId: string | undefined;
  readonly facts: Readonly<Record<string, unknown>>;
  /** From the outermost to the innermost. */
  readonly suppressions: readonly Suppressed[];
}

/** The scope outside of any block. */
export const NO_SCOPE: ScopeValues = Object.freeze({
  actor: undefined,
  actorLabel: undefined,
  correlationId: undefined,
  facts: Object.freeze({}),
  suppressions: [],
});

/** A transaction around the code that runs now: an object that all layers inside it share, since it ends while they run. */
export interface Surrounding {
  /** The database, since a process may have several. */
  readonly of: Core["storage"];
  open: boolean;
  /** The next one outwards. */
  readonly around: Surrounding | undefined;
}

/** What surrounds the code that runs now. */
export interface Ambient {
  readonly cause: Cause | undefined;
  readonly scope: ScopeValues;
  readonly transaction: Surrounding | undefined;
}

const storage = new AsyncLocalStorage<Ambient>();

/** The chain that a fired event belongs to: inside a receiver its event's, whatever block the receiver has opened. */
export function chainOf(cause: Cause | undefined, scope: ScopeValues): string | undefined {
  return cause?.correlationId ?? scope.correlationId;
}

/** What surrounds the code that runs now, if anything. */
export function ambient(): Ambient | undefined {
  return storage.getStore();
}

/** Runs work inside surroundings. */
export function surrounded<R>(by: Ambient, work: () => R): R {
  return storage.run(by, work);
}

/** A transaction of this outbox's database, inside the present ones. */
export function surrounding(core: Pick<Core, "storage">, open: boolean): Surrounding {
  return { of: core.storage, open, around: storage.getStore()?.transaction };
}

/** The present surroundings, with an open transaction. */
export function withTransaction(core: Pick<Core, "storage">): Ambient & { readonly transaction: Surrounding } {
  const around = storage.getStore();
  return { cause: around?.cause, scope: around?.scope ?? NO_SCOPE, transaction: surrounding(core, true) };
}

/**
 * Refuses to open a transaction where one is open and the database has a single writer: it would wait for itself.
 *
 * @throws {Error} saying which transaction to use instead
 */
export function refuseWaitingForItself(core: Core, what: string): void {
  if (!core.storage.capabilities.singleWriter) return;
  let here = storage.getStore()?.transaction;
  while (here !== undefined && !(here.open && here.of === core.storage)) here = here.around;
  if (here === undefined) return;
  throw new Error(
    `Cannot ${what}: this task already holds a transaction, and ${core.storage.name} has one writer, so it would wait ` +
      `for itself; use the open transaction (tx, or ctx inside a receiver) instead`,
  );
}
