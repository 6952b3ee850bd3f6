import type { Clock } from "../clock.ts";
import { type Duration, millisecondsOf } from "../duration.ts";
import { dateOf, type Instant, type InstantLike, instantOf } from "../instant.ts";

/**
 * A clock that a test moves. Claims, outcomes and waits of a `testOutbox` that is given one go by it.
 *
 * @example Two days later
 * ```ts
 * import { ManualClock } from "@owed/outbox/testing";
 *
 * const clock = new ManualClock(new Date("2026-01-01T00:00:00Z"));
 * clock.advance({ hours: 48 });
 * console.log(clock.date.toISOString()); // 2026-01-03T00:00:00.000Z
 * ```
 */
export class ManualClock implements Clock {
  #now: Instant;
  readonly #sleeping = new Set<{ readonly at: Instant; readonly wake: () => void }>();

  /**
   * Makes a clock that stands still.
   *
   * @param start where it stands; default now
   * @throws {TypeError} when it is no instant
   */
  constructor(start: InstantLike = new Date()) {
    this.#now = instantOf(start, "the start of a ManualClock");
  }

  /** Where it stands. */
  get date(): Date {
    return dateOf(this.#now);
  }

  /** Where it stands, in microseconds since the epoch. */
  now(): Instant {
    return this.#now;
  }

  /** Where it stands, in milliseconds. */
  monotonic(): number {
    return Number(this.#now) / 1000;
  }

  /** Resolves once the clock has been moved that far. */
  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted || ms <= 0) return resolve();
      const wake = () => {
        this.#sleeping.delete(sleeper);
        signal?.removeEventListener("abort", wake);
        resolve();
      };
      const sleeper = { at: this.#now + BigInt(Math.ceil(ms * 1000)), wake };
      this.#sleeping.add(sleeper);
      signal?.addEventListener("abort", wake);
    });
  }

  /**
   * Moves it forward and wakes whoever has slept long enough.
   *
   * @throws {RangeError} for a step back, which no database's clock makes
   */
  advance(by: Duration): void {
    const ms = millisecondsOf(by, "the step of a ManualClock");
    if (ms < 0) throw new RangeError(`Cannot move a ManualClock back, got ${ms} ms`);
    this.#now += BigInt(Math.round(ms * 1000));
    for (const { at, wake } of [...this.#sleeping]) if (at <= this.#now) wake();
  }
}
