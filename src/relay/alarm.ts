import type { Clock } from "../clock.ts";

/** The relay's sleep, which a wake ends early. A wake that comes while nobody sleeps ends the next sleep at once. */
export class Alarm {
  readonly #clock: Clock;
  #woken = false;
  #sleeping: AbortController | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the present sleep, or the next one. */
  ring(): void {
    this.#woken = true;
    this.#sleeping?.abort();
  }

  /** Forgets earlier wakes; called before a look at the database, which sees what they announced. */
  reset(): void {
    this.#woken = false;
  }

  /** Whether it rang since it was reset. */
  get rang(): boolean {
    return this.#woken;
  }

  /** Sleeps that long, until a wake, or until the signal aborts. */
  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#woken || signal.aborted) return;
    const sleeping = this.#sleeping = new AbortController();
    const stop = () => sleeping.abort();
    signal.addEventListener("abort", stop);
    await this.#clock.sleep(ms, sleeping.signal);
    signal.removeEventListener("abort", stop);
    this.#sleeping = undefined;
  }
}
