import { columnsOf } from "../storage/settlement.ts";
import type { Attempt } from "./attempt.ts";

/** How many deliveries ended in which status. A status that none ended in is absent. */
export interface DeliveryCounts {
  /** Not due yet, said the receiver. */
  pending?: number;
  /** Paid. */
  succeeded?: number;
  /** To be tried again. */
  failed?: number;
  /** Out of attempts, undecodable, or claimed too often without an outcome. */
  dead?: number;
  /** Addressed to a receiver that nobody lists. */
  orphaned?: number;
}

/** Whether the row shows what was decided. */
export function wasRecorded({ answer }: Attempt): boolean {
  return answer === "applied" || answer === "already";
}

/** Counts an attempt that the row shows. */
export function count(counts: DeliveryCounts, attempt: Attempt): void {
  if (!attempt.settlement || !wasRecorded(attempt)) return;
  const { status } = columnsOf(attempt.settlement);
  if (status !== null) counts[status] = (counts[status] ?? 0) + 1;
}
