import { AsyncLocalStorage } from "node:async_hooks";
import { type Core, inside } from "../core.ts";
import type { Tx } from "../declaration/context.ts";
import type { StorageTransaction } from "../storage/storage.ts";
import type { AfterCommit } from "./after_commit.ts";
import type { Cause } from "./ambient.ts";
import { Tracker } from "./tracker.ts";

/** What can be fired in, seen from inside. */
export interface FiringSource {
  readonly core: Core;
  /** Whether this opens a transaction of its own for each call. */
  readonly outside?: boolean;
  /** The event whose receiver this belongs to; else the one that surrounds the call causes what is fired. */
  readonly cause?: Cause;
  /** Runs work in the transaction, opening it first where there is none yet. */
  fireIn<R>(work: (scope: TxScope) => Promise<R>): Promise<R>;
}

/** The fires that surround the code that runs now: an inline receiver may set a savepoint in the midst of its fire. */
const around = new AsyncLocalStorage<ReadonlySet<object>>();

/**
 * One transaction, or one savepoint of it, as the library sees it: what has been fired in it, whether it may still
 * commit, and what is to happen afterwards.
 */
export class TxScope<Client = unknown> implements Tx<Client>, FiringSource {
  readonly core: Core;
  readonly storageTx: StorageTransaction<Client>;
  afterCommit: AfterCommit[] = [];
  readonly #joined: boolean;
  readonly #tracker = new Tracker();
  #doom: { readonly reason: unknown } | undefined;
  readonly #fires = new Map<object, Promise<unknown>>();
  #savepointIsOpen = false;
  #closed = false;

  constructor(core: Core, storageTx: StorageTransaction<Client>, joined = false) {
    this.core = core;
    this.storageTx = storageTx;
    this.#joined = joined;
  }

  get client(): Client {
    return this.storageTx.client;
  }

  get [inside](): FiringSource {
    return this as unknown as FiringSource;
  }

  fireIn<R>(work: (scope: TxScope) => Promise<R>): Promise<R> {
    return this.track(async () => {
      this.#refuseBesideSavepoint("fire in");
      const fire = {};
      const fired = around.run(new Set([...around.getStore() ?? [], fire]), () => work(this as unknown as TxScope));
      this.#fires.set(fire, fired);
      try {
        return await fired;
      } finally {
        this.#fires.delete(fire);
      }
    });
  }

  // Savepoints nest on the connection, whatever the code looks like: what the outer scope does while one is open is
  // undone with it, and of two at a time the one undoes a part of the other.
  #refuseBesideSavepoint(what: string): void {
    if (!this.#savepointIsOpen) return;
    throw new TypeError(
      `Cannot ${what} a transaction while a savepoint of it is open: use the savepoint's own handle, or await it first`,
    );
  }

  /**
   * Keeps the transaction from committing before this is done, awaited by the caller or not, and from committing at
   * all when it failed and nobody looked.
   */
  track<R>(work: () => Promise<R>): Promise<R> {
    if (this.#closed) return Promise.reject(new TypeError("Cannot fire: the transaction has ended"));
    return this.#tracker.track(work);
  }

  /**
   * Makes sure that this scope cannot commit, whatever the caller catches: a veto. A transaction that somebody else
   * commits is broken on the database at once.
   */
  async doom(reason: unknown): Promise<void> {
    this.#doom ??= { reason };
    if (this.#joined) await this.storageTx.doom();
  }

  /** Expects nothing of events that a veto undoes. */
  forget(eventIds: readonly string[]): void {
    this.afterCommit = this.afterCommit.filter((one) => !eventIds.includes(one.eventId));
  }

  /** The veto that dooms it, if any. */
  get veto(): { readonly reason: unknown } | undefined {
    return this.#doom;
  }

  /**
   * Called when the work has returned and before anything commits: waits for fires that nobody awaited.
   *
   * @throws the reason of a veto, or the error of a fire that nobody awaited
   */
  async finish(): Promise<void> {
    await this.#tracker.quiet();
    this.#closed = true;
    if (this.#doom) throw this.#doom.reason;
    await this.#tracker.finish();
  }

  /** Called when the work has thrown: fires that nobody awaited come to nothing, and must not crash the process. */
  async fail(): Promise<void> {
    this.#closed = true;
    await this.#tracker.quiet();
  }

  savepoint<R>(work: (tx: TxScope<Client>) => Promise<R> | R): Promise<R> {
    return this.track(async () => {
      this.#refuseBesideSavepoint("set a savepoint in");
      this.#savepointIsOpen = true;
      try {
        return await this.#savepoint(work);
      } finally {
        this.#savepointIsOpen = false;
      }
    });
  }

  async #savepoint<R>(work: (tx: TxScope<Client>) => Promise<R> | R): Promise<R> {
    // A fire that was not awaited belongs before it; one that surrounds this call (an inline receiver's) cannot.
    const enclosing = around.getStore();
    await Promise.allSettled([...this.#fires].filter(([fire]) => !enclosing?.has(fire)).map(([, fired]) => fired));
    const { result, asked } = await this.storageTx.savepoint(async (storageTx) => {
      const scope = new TxScope(this.core, storageTx, this.#joined);
      return { result: await runScope(scope, work), asked: scope.afterCommit };
    });
    this.afterCommit.push(...asked);
    return result;
  }
}

/** Runs work in a scope up to the point where it may commit. */
export async function runScope<R, Client>(
  scope: TxScope<Client>,
  work: (tx: TxScope<Client>) => Promise<R> | R,
): Promise<R> {
  try {
    const result = await work(scope);
    await scope.finish();
    return result;
  } catch (error) {
    await scope.fail();
    throw error;
  }
}
