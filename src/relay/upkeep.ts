import type { Core } from "../core.ts";
import { DEFAULT_LANE } from "../delivery/lanes.ts";
import { claimOrphans } from "../delivery/strangers.ts";
import type { Line } from "../delivery/line.ts";
import { Outage } from "./outage.ts";
import type { ResolvedRelayOptions } from "./options.ts";

const LONGEST_INTERVAL_MS = 60_000;

/**
 * The relay's second loop: says that this process lists its receivers, and ends rows whose receivers nobody lists. An
 * announcement must not grow as old as the grace, or another relay would orphan the rows of this one.
 */
export async function upkeep(core: Core, line: Line, options: ResolvedRelayOptions): Promise<void> {
  const { signal, worker, batchSize, lane } = options;
  const graceMs = core.settings.orphanAfterMs;
  const intervalMs = Math.min(graceMs / 3, LONGEST_INTERVAL_MS);
  const outage = new Outage(core.settings.pollMs);
  while (!signal.aborted) {
    let waitMs = intervalMs;
    try {
      await core.announce();
      const claimedAt = performance.now();
      // Rows of receivers that nobody lists belong to the default lane, like all that are in no named one.
      const rows = lane === null || lane === DEFAULT_LANE
        ? await claimOrphans(core, { worker, limit: batchSize, graceMs, now: core.clock.now() })
        : [];
      if (rows.length > 0) await line.start(rows, claimedAt, signal);
      outage.over();
      if (rows.length === batchSize) continue;
    } catch (error) {
      waitMs = outage.failed("look for orphans", error);
    }
    await core.clock.sleep(waitMs, signal);
  }
}
