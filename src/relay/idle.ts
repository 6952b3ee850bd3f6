// Rows can be due and yet not claimable for a moment: another relay is claiming them right now.
const SHORTEST_SLEEP_MS = 10;

/**
 * How long a relay sleeps that found nothing to claim. What is due and yet cannot be claimed (its row is locked, and may
 * be for long) is looked at again and again, each time after twice as long, up to the poll.
 */
export class Idle {
  readonly #pollMs: number;
  #inVainMs = SHORTEST_SLEEP_MS;

  constructor(pollMs: number) {
    this.#pollMs = pollMs;
  }

  /** Something was claimed, or somebody says that there is something: what is due may be had again. */
  over(): void {
    this.#inVainMs = SHORTEST_SLEEP_MS;
  }

  /** @param dueMs how long until the next row is due; null for none */
  sleepMs(dueMs: number | null): number {
    if (dueMs === null) return this.#pollMs;
    if (dueMs > 0) return Math.min(this.#pollMs, Math.max(dueMs, SHORTEST_SLEEP_MS));
    const ms = Math.min(this.#pollMs, this.#inVainMs);
    this.#inVainMs = ms * 2;
    return ms;
  }
}
