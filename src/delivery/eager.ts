import type { Core } from "../core.ts";
import { claimable } from "./claim.ts";
import { Line } from "./line.ts";
import { workerName } from "./worker.ts";

/**
 * Claims the rows just written for eager receivers, under an ordinary lease. What it returns attempts them: a failure
 * is owed to the relay like any other, and a crash leaves the claim to lapse.
 */
export async function claimEager(
  core: Core,
  eventIds: readonly string[],
  receiverKeys: readonly string[],
): Promise<() => Promise<void>> {
  const claimedAt = performance.now();
  const rows = await core.storage.claimOnly({
    worker: workerName("eager"),
    receivers: claimable(core, receiverKeys),
    only: { eventIds },
    now: core.clock.now(),
  });
  return async () => {
    const line = new Line(core, {
      concurrency: Math.min(core.settings.concurrency, core.storage.capabilities.maxConcurrency),
    });
    try {
      await line.start(rows, claimedAt);
      await line.idle();
    } finally {
      line.close();
    }
  };
}
