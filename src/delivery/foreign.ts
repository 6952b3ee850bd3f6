import type { Core } from "../core.ts";
import type { ClaimedDelivery } from "../storage/records.ts";

/** A row for another release is looked at again after this long at the latest. */
export const FOREIGN_WAIT_MS = 30_000;
// Met again later than this, the row was somewhere else meanwhile: another process had it, and put it off.
const LONGEST_GAP_MS = 2 * FOREIGN_WAIT_MS;

interface Meeting {
  readonly firstAt: number;
  readonly attempts: number;
  lastAt: number;
}

const met = new WeakMap<Core, Map<string, Meeting>>();

/**
 * How long this process has kept meeting a row that is another release's to run, in milliseconds. It is counted anew
 * when somebody has attempted the row, or had it for a while: the release that knows it lives. The row's own age says
 * nothing: a newer relay may have it in its backoff since yesterday.
 */
export function metForMs(core: Core, { fence, attempts }: ClaimedDelivery): number {
  const meetings = met.get(core) ?? new Map<string, Meeting>();
  met.set(core, meetings);
  const now = core.clock.monotonic();
  const before = meetings.get(fence.id);
  // In the order of the last meeting, so that the stale ones are in front.
  meetings.delete(fence.id);
  for (const [id, { lastAt }] of meetings) {
    if (now - lastAt <= LONGEST_GAP_MS) break;
    meetings.delete(id);
  }
  const isSame = before !== undefined && before.attempts === attempts && now - before.lastAt <= LONGEST_GAP_MS;
  const meeting = isSame ? before : { firstAt: now, attempts, lastAt: now };
  meeting.lastAt = now;
  meetings.set(fence.id, meeting);
  return now - meeting.firstAt;
}
