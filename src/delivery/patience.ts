/** How long rows that are claimed wait here for a free slot before others may have them. */
export class Patience {
  readonly #ms: number;
  readonly #onEnd: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #isOver = false;

  /** Infinite milliseconds never end. */
  constructor(ms: number, onEnd: () => void) {
    this.#ms = ms;
    this.#onEnd = onEnd;
  }

  /** Counts from the first time that something has to wait. */
  begin(): void {
    if (this.#timer !== undefined || this.#ms === Infinity) return;
    this.#timer = setTimeout(() => {
      this.#isOver = true;
      this.#onEnd();
    }, this.#ms);
  }

  /** Whether it has ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
  }
}
