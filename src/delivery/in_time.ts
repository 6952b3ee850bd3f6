/**
 * Waits for what a user's hook does once the outcome is recorded, for as long as an attempt may run: nobody's delivery
 * is behind it any more, and a hook that hangs must not keep a call, a commit or a stop waiting for ever.
 *
 * @returns whether it ended
 */
export async function inTime(work: Promise<void>, timeoutMs: number | null): Promise<boolean> {
  if (timeoutMs === null) return await work.then(() => true);
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<boolean>((resolve) => {
    timer = setTimeout(() => resolve(false), timeoutMs);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
