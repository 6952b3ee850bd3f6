import { isBusy } from "./failures.ts";

// Taken at load: a test that fakes the clock must not stop the waiting for a lock.
const { setTimeout } = globalThis;
const monotonic = performance.now.bind(performance);

/** How long a lock is waited for in all. */
const PATIENCE_MS = 10_000;

const FIRST_WAIT_MS = 1;
const LONGEST_WAIT_MS = 25;

/**
 * Repeats what finds the database busy, waiting outside SQLite with jitter, until it works or patience ends.
 *
 * @throws what `givenUp` makes of the last error, or any error that is not about a lock
 */
export async function untilFree<R>(
  work: () => Promise<R>,
  givenUp: (waitedMs: number, cause: unknown) => Error,
  patienceMs: number = PATIENCE_MS,
): Promise<R> {
  const began = monotonic();
  for (let wait = FIRST_WAIT_MS;; wait = Math.min(wait * 1.5, LONGEST_WAIT_MS)) {
    try {
      return await work();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const waited = monotonic() - began;
      if (waited >= patienceMs) throw givenUp(waited, error);
      await new Promise((resolve) => setTimeout(resolve, wait * (0.5 + Math.random())));
    }
  }
}
