import { ReceiverTimeout } from "../errors.ts";
import type { Attempt } from "./attempt.ts";

/**
 * Ends attempts that outlive their timeout. One timer for all, set to the earliest deadline: a timer per delivery
 * would cost more than a short receiver does.
 */
export class Deadlines {
  readonly #ends = new Map<Attempt, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #armedFor = Infinity;

  /** Watches an attempt that starts now, by the monotonic clock. */
  add(attempt: Attempt, now: number): void {
    if (attempt.timeoutMs === null) return;
    const end = now + attempt.timeoutMs;
    this.#ends.set(attempt, end);
    if (end < this.#armedFor) this.#arm(end);
  }

  /** Forgets an attempt that has ended. The timer stays: mostly there is a next attempt for it. */
  delete(attempt: Attempt): void {
    this.#ends.delete(attempt);
  }

  /** Stops the timer. */
  close(): void {
    clearTimeout(this.#timer);
    this.#armedFor = Infinity;
    this.#ends.clear();
  }

  #arm(end: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = end;
    this.#timer = setTimeout(() => this.#expire(), Math.max(0, end - performance.now()));
  }

  #expire(): void {
    this.#armedFor = Infinity;
    const now = performance.now();
    let next = Infinity;
    for (const [attempt, end] of this.#ends) {
      // Timers may fire a fraction of a millisecond early.
      if (end > now + 1) {
        next = Math.min(next, end);
        continue;
      }
      this.#ends.delete(attempt);
      const reason = new ReceiverTimeout(attempt.delivery.receiverKey, attempt.timeoutMs!);
      attempt.interrupt({ kind: "timeout", reason });
    }
    if (next < Infinity) this.#arm(next);
  }
}
