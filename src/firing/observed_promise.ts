/**
 * A promise that knows whether anybody has looked at it. `await` and `Promise.all` ask a subclass for its `then`, which
 * they do not ask of a plain promise.
 */
export class ObservedPromise<R> extends Promise<R> {
  #observed = false;

  /** What is chained to it is a plain promise again. */
  static override get [Symbol.species](): PromiseConstructor {
    return Promise;
  }

  override then<A = R, B = never>(
    onFulfilled?: ((value: R) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    this.#observed = true;
    return super.then(onFulfilled, onRejected);
  }

  /** Whether somebody awaits it or has chained to it. */
  get observed(): boolean {
    return this.#observed;
  }

  /** Chains without counting as an observer, and so that a rejection which nobody observes is no unhandled one. */
  peek(onFulfilled: () => void, onRejected: (reason: unknown) => void): void {
    void super.then(onFulfilled, onRejected);
  }
}
