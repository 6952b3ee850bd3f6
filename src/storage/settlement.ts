import type { Instant } from "../instant.ts";

/**
 * Who holds a row, and by which claim. The database compares it at full precision; `claimedAt` strictly rises per row,
 * so two claims of one row never share a fence, under a frozen test clock too.
 */
export interface Fence {
  /** The delivery's id. */
  readonly id: string;
  /** Worker id and a nonce of this start of the process. */
  readonly claimedBy: string;
  /** The claim's own moment. */
  readonly claimedAt: Instant;
}

/** A claim in one text: of one row, no two claims have the same moment. */
export function claimKey({ id, claimedAt }: Fence): string {
  return `${id} ${claimedAt}`;
}

/**
 * In rounds that name each row once. A process that lost a claim and took the row again may answer for both at the same
 * time; and a statement, which tells what it did by the rows' ids, could not say which of the two held.
 */
export function oncePerRow<T extends { readonly fence: Fence }>(items: readonly T[]): (readonly T[])[] {
  const rounds: { readonly ids: Set<string>; readonly items: T[] }[] = [];
  for (const item of items) {
    let round = rounds.find(({ ids }) => !ids.has(item.fence.id));
    if (round === undefined) rounds.push(round = { ids: new Set(), items: [] });
    round.ids.add(item.fence.id);
    round.items.push(item);
  }
  return rounds.map(({ items }) => items);
}

/** Of claims of one row only the latest: the others are lost for certain. */
export function latestClaims<T extends { readonly fence: Fence }>(items: readonly T[]): readonly T[] {
  const latest = new Map<string, T>();
  for (const item of items) {
    const other = latest.get(item.fence.id);
    if (other === undefined || other.fence.claimedAt < item.fence.claimedAt) latest.set(item.fence.id, item);
  }
  return latest.size === items.length ? items : [...latest.values()];
}

/**
 * What shall become of a claimed row. Built by `verdict` alone; a backend turns it into columns and decides nothing.
 * Delays are durations, added to the database's clock, so that no relay's clock enters.
 */
export type Settlement =
  | { readonly kind: "succeeded" }
  /** Failed with attempts left. */
  | { readonly kind: "retryAt"; readonly delayMs: number; readonly error: string }
  /** Failed because its destination asked to be left alone; no attempt is spent. */
  | { readonly kind: "deferredUntil"; readonly delayMs: number; readonly error: string }
  /** Not due until then, says the receiver: pending again and scheduled for that very moment; nothing else changes. */
  | { readonly kind: "notYetUntil"; readonly until: Instant }
  | { readonly kind: "dead"; readonly error: string; readonly counted: boolean }
  /** Not run here and not to be taken again before the delay: status, attempts and error stay. */
  | { readonly kind: "postponed"; readonly delayMs: number }
  | { readonly kind: "orphaned"; readonly error: string }
  /** Given back as it was: claimable at this very instant, its place in the queue kept. */
  | { readonly kind: "released" };

/** A settlement and the claim under which it is made. */
export interface FencedSettlement {
  /** The claim under which it is made. */
  readonly fence: Fence;
  /** What shall become of the row. */
  readonly settlement: Settlement;
}

/**
 * What became of a settlement.
 *
 * - `applied`: recorded.
 * - `lost`: somebody else holds the row now; nothing changed.
 * - `busy`: the row is locked (our own receiver's transaction is still closing); send it again.
 * - `gone`: the row was deleted.
 * - `already`: this very claim was settled before; the answer was lost on the way.
 */
export type Answer = "applied" | "lost" | "busy" | "gone" | "already";

/** The columns that a settlement writes; the one mapping that both backends share. */
export interface SettlementColumns {
  /** The new status, or null to leave it. */
  readonly status: "succeeded" | "pending" | "failed" | "dead" | "orphaned" | null;
  /** 1 when the attempt counts. */
  readonly attempts: 0 | 1;
  /** When set, `available_at` becomes now plus this. */
  readonly delayMs: number | null;
  /** When set, `available_at` and `due_at` become this. */
  readonly dueAt: Instant | null;
  /** The new `last_error`, or null to leave it. */
  readonly error: string | null;
  /** Whether nothing is owed afterwards. */
  readonly completes: boolean;
}

/** The columns of a settlement. */
export function columnsOf(settlement: Settlement): SettlementColumns {
  switch (settlement.kind) {
    case "succeeded":
      return { ...NOTHING, status: "succeeded", attempts: 1, completes: true };
    case "retryAt":
      return { ...NOTHING, status: "failed", attempts: 1, delayMs: settlement.delayMs, error: settlement.error };
    case "deferredUntil":
      return { ...NOTHING, status: "failed", delayMs: settlement.delayMs, error: settlement.error };
    case "notYetUntil":
      return { ...NOTHING, status: "pending", dueAt: settlement.until };
    case "dead":
      return {
        ...NOTHING,
        status: "dead",
        attempts: settlement.counted ? 1 : 0,
        error: settlement.error,
        completes: true,
      };
    case "orphaned":
      return { ...NOTHING, status: "orphaned", error: settlement.error, completes: true };
    case "postponed":
      return { ...NOTHING, delayMs: settlement.delayMs };
    case "released":
      return NOTHING;
  }
}

const NOTHING: SettlementColumns = Object.freeze({
  status: null,
  attempts: 0,
  delayMs: null,
  dueAt: null,
  error: null,
  completes: false,
});
