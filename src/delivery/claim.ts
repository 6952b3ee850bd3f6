import type { Core } from "../core.ts";
import type { Instant } from "../instant.ts";
import type { ClaimedDelivery } from "../storage/records.ts";
import type { ClaimedReceiver, StorageTransaction } from "../storage/storage.ts";
import { laneOf, lanesOf } from "./lanes.ts";
import type { Pauses } from "./pauses.ts";

/** A claim of what is due. */
export interface DueClaim {
  readonly worker: string;
  readonly limit: number;
  /** The lane to serve; null for all. */
  readonly lane: string | null;
  readonly pauses: Pauses;
  readonly ignoreBackoff?: boolean;
  readonly now: Instant | undefined;
}

/** The receivers of these keys with the leases that their claims are given. */
export function claimable(core: Core, keys: readonly string[]): ClaimedReceiver[] {
  return keys.map((key) => ({ key, leaseMs: leaseOf(core, key) }));
}

/** How long a claim of this receiver lasts, in milliseconds. */
export function leaseOf(core: Core, key: string): number {
  return core.registry.receivers.get(key)?.policy.leaseMs ?? core.settings.leaseMs;
}

/** Keys of the durable receivers of a lane; read at each claim. */
export function keysOf(core: Core, lane: string | null): readonly string[] {
  const keys = core.registry.durableKeys;
  return lane === null ? keys : keys.filter((key) => laneOf(core, key) === lane);
}

/** Keys that a claim may look at now: lanes that are set aside are left out. */
export function openKeys(core: Core, lane: string | null, pauses: Pauses): readonly string[] {
  return keysOf(core, lane).filter((key) => pauses.room(laneOf(core, key)) > 0);
}

/**
 * Claims what is due in a lane, or in all of them. A lane whose pause has just ended gives one row, to find out whether
 * its destination still wants to be left alone.
 */
export async function claimDue(core: Core, claim: DueClaim, within?: StorageTransaction): Promise<ClaimedDelivery[]> {
  const { worker, limit, lane, pauses, ignoreBackoff = false, now } = claim;
  const of = (keys: readonly string[], limit: number) =>
    core.storage.claim({ worker, receivers: claimable(core, keys), limit, ignoreBackoff, now }, within);
  const lanes = lane === null ? lanesOf(core) : [lane];
  const probed = lanes.filter((name) => pauses.room(name) === 1);
  const open = keysOf(core, lane).filter((key) => pauses.room(laneOf(core, key)) === Infinity);
  const rows = open.length === 0 ? [] : await of(open, limit);
  for (const name of probed) rows.push(...await of(keysOf(core, name), 1));
  return rows;
}
