import type { Core } from "../core.ts";

/** The lane of every receiver that declares none, and of rows whose receiver is unknown. */
export const DEFAULT_LANE = "default";

/** The lanes that the listed receivers name, sorted; the default lane is always among them. */
export function lanesOf(core: Core): string[] {
  const lanes = new Set([DEFAULT_LANE]);
  for (const receiver of core.registry.receivers.values()) lanes.add(receiver.policy.lane);
  return [...lanes].sort();
}

/** The lane of a receiver's rows; read at every claim, so that moving a receiver moves what it is owed. */
export function laneOf(core: Core, receiverKey: string): string {
  return core.registry.receivers.get(receiverKey)?.policy.lane ?? DEFAULT_LANE;
}

/**
 * Checks the lane that a relay is to serve; null is all of them.
 *
 * @throws {RangeError} for one that no listed receiver declares: its relay would claim nothing and look healthy
 */
export function requireLane(core: Core, lane: string | null): void {
  if (lane === null) return;
  const lanes = lanesOf(core);
  if (lanes.includes(lane)) return;
  throw new RangeError(`Cannot serve lane "${lane}": no listed receiver declares it, declared are ${lanes.join(", ")}`);
}
