/**
 * What travels as JSON arrays, by position: SQLite parses an array about twice as fast as an object with the same
 * values, and this is on the path of every event and delivery. Both sides read the positions here.
 */

/** An event for `appendEvents`. */
export const EVENT = [
  "id",
  "name",
  "version",
  "key",
  "topic",
  "payload",
  "occurredAt",
  "actor",
  "actorLabel",
  "scope",
  "correlationId",
  "causationId",
  "trace",
  "dedupeKey",
  "suppressedReason",
  "retentionSeconds",
  "deleteWhen",
] as const;

/** A debt for `appendDeliveries` and `reopen`. */
export const DELIVERY = [
  "eventId",
  "receiverKey",
  "target",
  "targetDigest",
  "maxAttempts",
  "orderKey",
  "dueAt",
  "dueIn",
] as const;

/** A receiver for the claims. */
export const RECEIVER = ["key", "at", "id"] as const;

/** A claim for `settle`, `settleSucceeded` and `renew`. */
export const FENCE = ["id", "claimedAt", "claimedBy"] as const;

/** What `settle` writes. */
export const SETTLEMENT = [...FENCE, "status", "attempts", "delay", "dueAt", "error", "completes"] as const;

/** What `renew` writes. */
export const RENEWAL = [...FENCE, "lease", "parked"] as const;

/** The expression that reads one part of an array in a column. */
export function part<Shape extends readonly string[]>(column: string, shape: Shape, name: Shape[number]): string {
  return `${column} ->> ${shape.indexOf(name)}`;
}
