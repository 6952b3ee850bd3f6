import { isConnectionLoss } from "../faults.ts";
import { settlesWithin } from "../timers.ts";

/** How long a connection's end may trail the failure of a statement on it. */
const TRAILING_MS = 250;

/**
 * Whether the connection of a transaction is still there. postgres.js answers the end of a transaction's callback with
 * COMMIT or ROLLBACK even when the socket is gone, and that write ends the process or loses the pool's slot for good;
 * so a callback whose connection was lost never ends, and the transaction's own promise tells of the loss.
 */
export class Life {
  /** Rejects when the connection is lost. */
  readonly lost: Promise<never>;
  #closed = false;
  readonly #ended = Promise.withResolvers<void>();
  readonly #lose: (error: unknown) => void;

  constructor() {
    const lost = Promise.withResolvers<never>();
    this.lost = lost.promise;
    this.#lose = lost.reject;
    this.lost.catch(() => {});
  }

  /** To be told when the transaction has failed while its callback was running. */
  end(error: unknown): void {
    this.#closed = true;
    this.#ended.resolve();
    this.#lose(error);
  }

  /** The callback of a transaction or savepoint; it never settles once the connection is lost. */
  async keep<R>(work: () => Promise<R>): Promise<R> {
    let result: R;
    try {
      result = await work();
    } catch (error) {
      if (!this.#closed && isConnectionLoss(error)) await settlesWithin(this.#ended.promise, TRAILING_MS);
      if (this.#closed) return await never();
      throw error;
    }
    return this.#closed ? await never() : result;
  }
}

function never(): Promise<never> {
  return new Promise(() => {});
}
