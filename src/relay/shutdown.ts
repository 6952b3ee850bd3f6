import type { Core } from "../core.ts";
import type { Line } from "../delivery/line.ts";
import { logger } from "../log.ts";

const log = logger(["relay"]);
// How long the outcomes of released attempts may take to be recorded before their leases are left to lapse.
const LAST_WAIT_MS = 5000;

/** The reason with which `ctx.signal` aborts when the grace of a stopping relay is over. */
export class RelayStopped extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name = "RelayStopped";

  /** Built by the library. */
  constructor() {
    super("The relay is stopping and its grace is over: the attempt is given back and does not count");
  }
}

/**
 * Waits for the relay's work to end by itself; past the grace, gives back what still runs. The grace counts from the
 * stop and not from the end of the loops: where the database has one writer, a receiver's open transaction keeps them
 * from ending.
 */
export async function shutDown(
  core: Core,
  line: Line,
  work: Promise<void>,
  { signal, graceMs }: { readonly signal: AbortSignal; readonly graceMs: number | undefined },
): Promise<void> {
  if (graceMs === undefined) return await work;
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await Promise.race([work, stopped]);
  if (await within(core, work, graceMs)) return;
  log.warn("{running} receivers are still running at the end of the grace; their attempts are given back", {
    running: line.running,
  });
  line.release(new RelayStopped());
  if (await within(core, work, LAST_WAIT_MS)) return;
  line.giveUp();
  log.warn("some outcomes could not be recorded; their leases will lapse");
}

/** Whether the work is done before the time is over. */
async function within(core: Core, work: Promise<void>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const done = work.then(() => true);
  const late = core.clock.sleep(ms, timer.signal).then(() => false);
  try {
    return await Promise.race([done, late]);
  } finally {
    timer.abort();
  }
}
