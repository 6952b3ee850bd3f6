import { ObservedPromise } from "./observed_promise.ts";

/**
 * What is under way in a transaction or for a receiver, awaited by the caller or not: it must be over before anything
 * commits, and a failure that nobody looked at must not pass for a success.
 */
export class Tracker {
  readonly #pending = new Set<Promise<void>>();
  readonly #failed = new Map<ObservedPromise<unknown>, unknown>();

  /** Runs work and keeps it in sight. Its rejection is never an unhandled one. */
  track<R>(work: () => Promise<R>): Promise<R> {
    const running = new ObservedPromise<R>((resolve, reject) => work().then(resolve, reject));
    const over = new Promise<void>((done) =>
      running.peek(done, (reason) => {
        this.#failed.set(running, reason);
        done();
      })
    );
    this.#pending.add(over);
    void over.then(() => this.#pending.delete(over));
    return running;
  }

  /** Whether anything was tracked that has not come to a good end yet. */
  get open(): boolean {
    return this.#pending.size > 0 || this.#failed.size > 0;
  }

  /** Waits until nothing is under way. */
  async quiet(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }

  /**
   * Waits until nothing is under way.
   *
   * @throws the error of work that failed and that nobody awaited
   */
  async finish(): Promise<void> {
    await this.quiet();
    for (const [running, reason] of this.#failed) {
      if (!running.observed) throw reason;
    }
  }
}
