/** One commit, and when its receiver started. */
export interface Waking extends AsyncDisposable {
  /** Fires one event in a transaction with a business row. Milliseconds from its commit to the receiver's start. */
  fireOne(id: number): Promise<number>;
}

/** Brings together who fires and who receives: when did the receiver of this job start? */
export class Arrivals {
  readonly #waiting = new Map<number, PromiseWithResolvers<number>>();

  /** Called by the receiver. */
  arrived(id: number): void {
    this.#of(id).resolve(performance.now());
  }

  /** The moment at which the receiver started. */
  async of(id: number): Promise<number> {
    const late = setTimeout(() => this.#of(id).reject(new Error(`Job ${id} was not received within 10 s`)), 10_000);
    try {
      return await this.#of(id).promise;
    } finally {
      clearTimeout(late);
      this.#waiting.delete(id);
    }
  }

  #of(id: number): PromiseWithResolvers<number> {
    const known = this.#waiting.get(id) ?? Promise.withResolvers<number>();
    this.#waiting.set(id, known);
    return known;
  }
}
