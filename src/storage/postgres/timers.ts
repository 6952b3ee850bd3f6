/** The runtime's timers, taken before a test can replace them: nobody can move the clock of a database's connection. */
const { setTimeout: start, clearTimeout: stop } = globalThis;

/** Resolves after so long, or when the signal aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted) return;
  await new Promise<void>((resolve) => {
    const timer = start(done, milliseconds);
    function done(): void {
      stop(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done);
  });
}

/** Whether the promise has settled in time. */
export async function settlesWithin(promise: Promise<unknown>, milliseconds: number): Promise<boolean> {
  let timer: ReturnType<typeof start> | undefined;
  const late = new Promise<false>((resolve) => {
    timer = start(() => resolve(false), milliseconds);
  });
  try {
    return await Promise.race([promise.then(() => true, () => true), late]);
  } finally {
    stop(timer);
  }
}
