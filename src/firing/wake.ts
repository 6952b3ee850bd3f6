import type { Storage } from "../storage/storage.ts";

/**
 * Sends wakes to the relays: the first at once, then at most one per interval, the last one never lost. The interval
 * counts from the last wake that was sent, so that a steady stream of fires cannot starve it.
 */
export class Waker {
  readonly #storage: Storage;
  readonly #intervalMs: number;
  #lastSent = -Infinity;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(storage: Storage, intervalMs: number) {
    this.#storage = storage;
    this.#intervalMs = intervalMs;
  }

  /** Asks for a wake. Returns at once and cannot fail: the relays' poll is the floor under it. */
  wake(): void {
    if (this.#timer !== undefined) return;
    const wait = this.#lastSent + this.#intervalMs - performance.now();
    if (wait <= 0) return this.#send();
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#send();
    }, wait);
  }

  /** Sends what is still waiting. */
  flush(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#send();
  }

  #send(): void {
    this.#lastSent = performance.now();
    void this.#storage.wake().catch(() => {});
  }
}
