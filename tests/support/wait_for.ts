/** Generous, because a loaded CI machine is slow; a fact that holds is seen at once whatever the timeout. */
export const defaultTimeoutMs = 15_000;

export interface WaitForOptions {
  /** What is awaited, for the error. */
  what: string;
  timeoutMs?: number;
  everyMs?: number;
}

/** Asks `predicate` again and again until it answers with something truthy, and returns that answer. */
export async function waitFor<T>(
  predicate: () => T | Promise<T>,
  { what, timeoutMs = defaultTimeoutMs, everyMs = 10 }: WaitForOptions,
): Promise<NonNullable<T>> {
  const giveUpAt = performance.now() + timeoutMs;
  while (true) {
    const answer = await predicate();
    if (answer) return answer;
    if (performance.now() > giveUpAt) {
      throw new Error(
        `Waited ${timeoutMs} ms for ${what}; the last answer was ${JSON.stringify(answer)}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
}

/** What a slow receiver does. Not for waiting until something has happened: that is {@link waitFor}. */
export function takeTime(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
