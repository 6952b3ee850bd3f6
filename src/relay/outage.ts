import { errorType, logger } from "../log.ts";

const log = logger(["relay"]);
const LONGEST_WAIT_MS = 15_000;

/** How a loop bears a database that does not answer: waits that double up to 15 s, and one line per second at most. */
export class Outage {
  readonly #firstWaitMs: number;
  #waitMs = 0;
  #lastLogged = -Infinity;

  constructor(firstWaitMs: number) {
    this.#firstWaitMs = Math.min(firstWaitMs, LONGEST_WAIT_MS);
  }

  /** Whether the last look failed. */
  get ongoing(): boolean {
    return this.#waitMs > 0;
  }

  /** Notes a failed look. Returns how long to wait before the next, in milliseconds. */
  failed(what: string, error: unknown): number {
    this.#waitMs = this.#waitMs === 0 ? this.#firstWaitMs : Math.min(this.#waitMs * 2, LONGEST_WAIT_MS);
    const now = performance.now();
    if (now - this.#lastLogged >= 1000) {
      this.#lastLogged = now;
      log.warn("could not {what} ({error}); trying again in {wait} ms", {
        what,
        error: errorType(error),
        wait: this.#waitMs,
      });
    }
    return this.#waitMs;
  }

  /** Notes that the database answers. Returns whether it had not before. */
  over(): boolean {
    const was = this.ongoing;
    this.#waitMs = 0;
    return was;
  }
}
