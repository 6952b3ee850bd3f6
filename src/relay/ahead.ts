/**
 * How many rows a relay claims: those that have a free slot, and some that wait here for one. Where batches are over
 * soon that is a whole batch each time. Behind slow receivers a row would wait here while another relay could run it,
 * so there it is only as many as found a slot in time before, and one more at each claim until that is too many.
 */
export class Ahead {
  readonly #batchSize: number;
  #waiting: number;

  constructor(batchSize: number) {
    this.#batchSize = batchSize;
    this.#waiting = batchSize;
  }

  /** Rows for the next claim. None: wait for a free slot first. */
  limit(free: number): number {
    return Math.min(this.#batchSize, free + this.#waiting);
  }

  /** Whether whole batches are over soon, so that the next claim can be sent while one runs. */
  get isQuick(): boolean {
    return this.#waiting === this.#batchSize;
  }

  /**
   * Learns from a batch.
   *
   * @param claimed how many rows it had
   * @param started how many of them found a slot in time
   * @param free how many slots were free when it came
   */
  learn(claimed: number, started: number, free: number): void {
    if (started < claimed) this.#waiting = Math.min(this.#batchSize, Math.max(0, started - free));
    else this.#waiting = Math.min(this.#batchSize, this.#waiting + Math.max(1, this.#waiting >> 2));
  }
}
