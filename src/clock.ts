import type { Instant } from "./instant.ts";

/**
 * Where the code above the storage gets the time. In production `now` is undefined, which lets the database's clock
 * decide; tests give one. `monotonic` and `sleep` are this process's own.
 */
export interface Clock {
  /** The moment for the next statement, or undefined for the database's own. */
  now(): Instant | undefined;
  /** Milliseconds that never step back. */
  monotonic(): number;
  /** Resolves after that long, or early when the signal aborts; never rejects. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The clock of production. Timers are asked from the global at each call, so that a fake clock can drive them. */
export const systemClock: Clock = {
  now: () => undefined,
  monotonic: () => performance.now(),
  sleep: (ms, signal) => sleepBy(globalThis, ms, signal),
};

type Timers = Pick<typeof globalThis, "setTimeout" | "clearTimeout">;

const real: Timers = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };

/** Sleeps by the runtime's own timers, whatever clock a test has put in their place: between two looks at a database. */
export function realSleep(ms: number, signal?: AbortSignal): Promise<void> {
  return sleepBy(real, ms, signal);
}

function sleepBy({ setTimeout, clearTimeout }: Timers, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    // Timers hold at most 2^31 - 1 ms and fire at once beyond it.
    const timer = setTimeout(done, Math.min(ms, 2 ** 31 - 1));
    signal?.addEventListener("abort", done);
  });
}
