import type { Core } from "../core.ts";
import type { Instant } from "../instant.ts";
import type { ClaimedDelivery } from "../storage/records.ts";

/** How a claim of orphans is made. */
export interface OrphanClaim {
  readonly worker: string;
  readonly limit: number;
  readonly graceMs: number;
  readonly now: Instant | undefined;
}

/**
 * Claims rows of receivers that neither this process nor, for the length of the grace, any other has listed. Rows due
 * for less than the grace are left: an older relay of a rolling deploy, or a second application on the schema, must
 * not orphan somebody's work. Nor may whoever comes back first after an outage in which nobody could announce: only a
 * process that has itself announced for the grace, without a break, knows that the others could have.
 */
export async function claimOrphans(
  core: Core,
  { worker, limit, graceMs, now }: OrphanClaim,
): Promise<ClaimedDelivery[]> {
  if (core.announcingForMs() < graceMs) return [];
  const keys = await core.storage.strangers(core.registry.durableKeys, graceMs, now);
  if (keys.length === 0) return [];
  const receivers = keys.map((key) => ({ key, leaseMs: core.settings.leaseMs }));
  return await core.storage.claim({ worker, receivers, limit, dueForMs: graceMs, now });
}
