import type { TaskBackend } from "./declaration/task.ts";
import type { Clock } from "./clock.ts";
import type { AroundDelivery } from "./declaration/around.ts";
import type { Tx } from "./declaration/context.ts";
import type { Registry } from "./declaration/registry.ts";
import type { ResolvedSettings } from "./declaration/settings.ts";
import type { Storage } from "./storage/storage.ts";

/** What every room is given: the database, the declarations, the settings and the time. */
export interface Core<Client = unknown> {
  readonly storage: Storage<Client>;
  readonly registry: Registry;
  readonly settings: ResolvedSettings;
  readonly clock: Clock;
  /** Tells the relays, after a commit, that there is work; coalesced, and unable to fail. */
  readonly wake: () => void;
  /**
   * Claims the debts of eager receivers right after their commit. Returns what attempts them, so that the relays are
   * woken only once they can no longer take these rows.
   */
  readonly eager: (eventIds: readonly string[], receiverKeys: readonly string[]) => Promise<() => Promise<void>>;
  /** Says that this process lists its receivers. */
  readonly announce: () => Promise<void>;
  /** For how long it has said so without a break, in milliseconds. */
  readonly announcingForMs: () => number;
  /** Says so once in a while, in the background; called after commits, so that a process which only fires holds no timer. */
  readonly announceSometimes: () => void;
  /** JSON text of the trace that a fire belongs to, or null. */
  readonly traceContext: () => string | null;
  /** Wraps each durable attempt, see `OutboxOptions.aroundDelivery`. */
  readonly aroundDelivery: AroundDelivery | undefined;
  /** Where deliveries of `site: "task"` are handed over. */
  readonly tasks: TaskBackend | undefined;
  /** After-commit work that nobody awaits; `close` does. */
  readonly background: Set<Promise<void>>;
}

/**
 * The way from a public object (an outbox, a transaction, a delivery context) to its inside. A symbol that is not
 * exported from the package, so that users cannot come to depend on it.
 */
export const inside: unique symbol = Symbol("owed.inside");

/** Turns the transaction that other code opened into one that can be fired in. */
export type Join<Client> = (client: unknown) => Tx<Client>;

/** Options of an outbox's `transaction` and `joining`. */
export interface TransactionOptions {
  /** Once it has aborted, nothing is begun and nothing commits; rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** An outbox: the declarations bound to a database. Made by {@linkcode createOutbox}. */
export interface Outbox<Client = unknown> extends AsyncDisposable {
  /** The database. */
  readonly storage: Storage<Client>;
  /**
   * Runs work in a transaction: commits when it resolves, rolls back when it throws. Resolves after the on-commit
   * receivers and eager attempts, unless the setting `afterCommit` leaves them in the background.
   *
   * @throws whatever the work throws, or the veto of an inline receiver even if the work caught it
   */
  transaction<R>(work: (tx: Tx<Client>) => Promise<R> | R, options?: TransactionOptions): Promise<R>;
  /**
   * Fires in transactions that the caller's own code (an ORM) opens and commits: `join` turns one into a `Tx`.
   * Resolves as `transaction` does, after looking up which of the fired events were really committed.
   *
   * @throws whatever the work throws, or the veto of an inline receiver
   */
  joining<R>(work: (join: Join<Client>) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /** Waits for what runs in the background, and closes what the storage opened by itself. Safe to call twice. */
  close(): Promise<void>;
}

/**
 * The inside of an outbox.
 *
 * @throws {TypeError} when the value is no outbox
 */
export function coreOf(outbox: Outbox, what: string): Core {
  const source = (outbox as { [inside]?: { readonly core: Core; readonly outside?: boolean } } | null | undefined)
    ?.[inside];
  if (source?.outside) return source.core;
  throw new TypeError(`Cannot ${what}: the first argument must be an outbox`);
}
