/**
 * The states of a delivery and the legal moves between them, as data: the storage suites walk every pair, and the
 * README's chart is printed from this table.
 */

/** Statuses as the delivery page names them. `claimed` is never stored: it is an owed row under a live lease. */
export type Status = "pending" | "claimed" | "succeeded" | "failed" | "dead" | "orphaned" | "cancelled";

/** Statuses in which a delivery is still to be paid. */
export const OWED: readonly Status[] = ["pending", "failed", "claimed"];

/** Statuses in which nothing is owed any more. */
export const SETTLED: readonly Status[] = ["succeeded", "dead", "orphaned", "cancelled"];

/** One legal move: from where, by which verb, to where. */
export interface Move {
  /** The status before; `(none)` for a row that does not exist yet. */
  readonly from: Status | "(none)";
  /** What happens to it. */
  readonly verb: string;
  /** The status after. */
  readonly to: Status;
}

/** Every legal move. What is not here leaves the row untouched. */
export const MOVES: readonly Move[] = [
  { from: "(none)", verb: "fire", to: "pending" },
  { from: "pending", verb: "claim", to: "claimed" },
  { from: "failed", verb: "claim", to: "claimed" },
  { from: "claimed", verb: "claim (lease lapsed)", to: "claimed" },
  { from: "claimed", verb: "success", to: "succeeded" },
  { from: "claimed", verb: "failure, attempts left", to: "failed" },
  { from: "claimed", verb: "failure, budget spent", to: "dead" },
  { from: "claimed", verb: "failure for good", to: "dead" },
  { from: "claimed", verb: "deferral", to: "failed" },
  { from: "claimed", verb: "deferral after the bound", to: "dead" },
  { from: "claimed", verb: "not due yet", to: "pending" },
  { from: "claimed", verb: "undecodable payload", to: "dead" },
  { from: "claimed", verb: "too many lapses", to: "dead" },
  { from: "claimed", verb: "receiver unknown", to: "orphaned" },
  { from: "claimed", verb: "hand back", to: "pending" },
  { from: "claimed", verb: "hand back (has failed before)", to: "failed" },
  { from: "claimed", verb: "take (by a task)", to: "claimed" },
  { from: "succeeded", verb: "replay", to: "pending" },
  { from: "dead", verb: "replay", to: "pending" },
  { from: "orphaned", verb: "replay", to: "pending" },
  { from: "cancelled", verb: "replay", to: "pending" },
];
