import type { ScopeKeeper } from "../guard.ts";
import { settlesWithin } from "./timers.ts";

/** How long a savepoint that nobody awaited may take to end once its transaction is over. */
const PATIENCE_MS = 1_000;

/**
 * The savepoints of one transaction that have not ended. A driver runs a savepoint around a callback, and undoes it on
 * the connection when the callback fails. One that nobody awaited may fail after the transaction, and would undo then
 * what it finds on the connection: somebody else's transaction. So the transaction's end waits for them; and the callback
 * of one that is not done by then never ends as far as the driver can tell.
 */
export class Scopes implements ScopeKeeper {
  readonly #open = new Set<Promise<unknown>>();
  #isOver = false;

  opened<Scope>(scope: Scope): Scope {
    if (scope instanceof Promise && !this.#isOver) {
      const settled = () => void this.#open.delete(scope);
      this.#open.add(scope);
      Promise.prototype.then.call(scope, settled, settled);
    }
    return scope;
  }

  // As the driver would.
  async keep<R>(work: () => R | Promise<R>): Promise<R> {
    try {
      const result = work();
      // What postgres.js does with the queries that a callback returns.
      return (Array.isArray(result) ? await Promise.all(result) : await result) as R;
    } finally {
      if (this.#isOver) await new Promise<never>(() => {});
    }
  }

  /** Whether any has not ended. */
  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** Waits for those that are open. Throws what one of them throws, or that one has not ended. */
  async end(): Promise<void> {
    const all = Promise.allSettled(this.#open);
    const inTime = await settlesWithin(all, PATIENCE_MS);
    this.cut();
    if (!inTime) {
      throw new TypeError("Cannot keep the transaction's work: a savepoint in it was neither awaited nor ended");
    }
    const failed = (await all).find((each) => each.status === "rejected");
    if (failed) throw failed.reason;
  }

  /** Waits for none: whatever they do, the driver does not hear of it any more. */
  cut(): void {
    this.#isOver = true;
    this.#open.clear();
  }
}
