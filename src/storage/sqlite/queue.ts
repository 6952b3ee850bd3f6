import { AsyncLocalStorage } from "node:async_hooks";

/** Leaves the queue; calling it twice does nothing. */
export type Leave = () => void;

/**
 * The one queue of a database in this process: whoever writes holds it, first come, first served.
 *
 * libSQL runs on the JavaScript thread, so a statement that waits inside SQLite for a lock which this process holds
 * waits for itself: the event loop stands still and the holder cannot go on. Here the waiting is done outside.
 */
export class Queue {
  readonly #waiting: (() => void)[] = [];
  readonly #holder = new AsyncLocalStorage<{ isHolding: boolean }>();
  #held = false;

  /**
   * Waits for its turn.
   *
   * @throws {Error} when this very task holds the queue already and would wait for itself
   */
  async enter(): Promise<Leave> {
    if (this.#holder.getStore()?.isHolding) {
      throw new Error(
        "Cannot use the database beside the transaction that this task holds: SQLite has one writer, so it would wait " +
          "for itself; pass the open transaction on instead",
      );
    }
    if (this.#held) await new Promise<void>((turn) => this.#waiting.push(turn));
    this.#held = true;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      // The turn is handed over while the queue counts as held, so that nobody who comes now can overtake.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#held = false;
    };
  }

  /** Runs work of somebody else's during a turn, whatever it calls being told apart from those who wait. */
  async holding<R>(work: () => Promise<R>): Promise<R> {
    const holder = { isHolding: true };
    try {
      return await this.#holder.run(holder, work);
    } finally {
      // What the work has left running in the background may queue again.
      holder.isHolding = false;
    }
  }

  /** Runs work when its turn has come. */
  async run<R>(work: () => Promise<R>): Promise<R> {
    const leave = await this.enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }
}
