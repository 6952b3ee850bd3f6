import type { Instant } from "../instant.ts";
import type { Status } from "./states.ts";
import type { Fence } from "./settlement.ts";

/** When an event's rows may be deleted; stored on the row at fire. */
export type DeleteWhen = "succeeded" | "settled";

/** An event about to be written. Absent values are null, so that a row's shape never varies. */
export interface NewEvent {
  /** UUID v7, the message id everywhere. */
  readonly id: string;
  /** The event's name. */
  readonly name: string;
  /** The version of its declaration, 1 to 32767. */
  readonly version: number;
  /** The aggregate id, or null where the event has none. */
  readonly key: string | null;
  /** The topic under which it leaves the database, or null for an event that stays. */
  readonly topic: string | null;
  /** JSON text, stored as it is. */
  readonly payload: string;
  /** When it happened; null for the moment of writing. */
  readonly occurredAt: Instant | null;
  /** Who caused it, such as `user:42`, or null when nobody said. */
  readonly actor: string | null;
  /** The actor as shown to people, or null. */
  readonly actorLabel: string | null;
  /** JSON text of the attribution facts, or null for none. */
  readonly scope: string | null;
  /** The chain that it belongs to, or null where it starts one. */
  readonly correlationId: string | null;
  /** Id of the event that caused it, or null. */
  readonly causationId: string | null;
  /** JSON text of the trace context, or null. */
  readonly trace: string | null;
  /** Unique per event name; null for an event that may be repeated. */
  readonly dedupeKey: string | null;
  /** Why it was written without debts, or null for the ordinary event. */
  readonly suppressedReason: string | null;
  /** Seconds to keep it for, or null for the outbox's own retention. Null when `deleteWhen` is set. */
  readonly retentionSeconds: number | null;
  /** The end of its debts that lets it go, or null. Null when `retentionSeconds` is set. */
  readonly deleteWhen: DeleteWhen | null;
}

/** A debt about to be written. */
export interface NewDelivery {
  /** UUID of the event that it is owed for; the event is in the same `append`. */
  readonly eventId: string;
  /** The receiver that it is owed to. */
  readonly receiverKey: string;
  /** Empty unless the receiver fans out. */
  readonly target: string;
  /** Attempts before it is dead, 1 to 32767; frozen here. */
  readonly maxAttempts: number;
  /** The key that orders, for an ordered receiver; null for any other. */
  readonly orderKey: string | null;
  /** When it is scheduled for; null for now. */
  readonly dueAt: Instant | null;
  /** Or how long after the moment of writing, in milliseconds. At most one of the two is set. */
  readonly dueInMs: number | null;
}

/** An event as it was stored. */
export interface EventRecord {
  /** UUID v7. */
  readonly id: string;
  /** The event's name. */
  readonly name: string;
  /** The version of the declaration under which it was written. */
  readonly version: number;
  /** The aggregate id, or null. */
  readonly key: string | null;
  /** The topic, or null. */
  readonly topic: string | null;
  /** JSON text, as it was written. */
  readonly payload: string;
  /** When it happened. */
  readonly occurredAt: Instant;
  /** Who caused it, or null. */
  readonly actor: string | null;
  /** The actor as shown to people, or null. */
  readonly actorLabel: string | null;
  /** JSON text of the attribution facts, or null. */
  readonly scope: string | null;
  /** The chain that it belongs to, or null. */
  readonly correlationId: string | null;
  /** Id of the event that caused it, or null. */
  readonly causationId: string | null;
  /** JSON text of the trace context, or null. */
  readonly trace: string | null;
}

/** A claimed row with the event that it is owed for. */
export interface ClaimedDelivery {
  /** The claim itself: every outcome is recorded under it. */
  readonly fence: Fence;
  /** The receiver that it is owed to. */
  readonly receiverKey: string;
  /** The target of a fan-out; empty without one. */
  readonly target: string;
  /** Attempts recorded so far; the one about to run is one more. */
  readonly attempts: number;
  /** Attempts before it is dead; frozen at fire. */
  readonly maxAttempts: number;
  /** Claims that lapsed without an outcome, this takeover included. */
  readonly lapses: number;
  /** Its place in the queue: when it could be claimed. */
  readonly availableAt: Instant;
  /** The scheduled moment, or null for the event's own. */
  readonly dueAt: Instant | null;
  /** When it became owed: written, replayed or requeued. */
  readonly owedSince: Instant;
  /** The database's clock at the claim (or the test's). */
  readonly claimedNow: Instant;
  /** The event that it is owed for. */
  readonly event: EventRecord;
}

/** One delivery as `find` shows it, settled ones included. */
export interface DeliveryRecord {
  /** The delivery's id, in digits. */
  readonly id: string;
  /** UUID of its event. */
  readonly eventId: string;
  /** The receiver that it is owed to. */
  readonly receiverKey: string;
  /** The target of a fan-out; empty without one. */
  readonly target: string;
  /** Derived: `claimed` when owed and under a live lease. */
  readonly status: Status;
  /** Attempts recorded so far. */
  readonly attempts: number;
  /** Attempts before it is dead. */
  readonly maxAttempts: number;
  /** Claims that lapsed without an outcome. */
  readonly lapses: number;
  /** When it can be claimed. */
  readonly availableAt: Instant;
  /** The scheduled moment, or null for the event's own. */
  readonly dueAt: Instant | null;
  /** When it became owed: written, replayed or requeued. */
  readonly owedSince: Instant;
  /** Worker of the last claim, or null when there was none. */
  readonly claimedBy: string | null;
  /** Moment of the last claim, or null when there was none. */
  readonly claimedAt: Instant | null;
  /** When the claim lapses or has lapsed; null when nobody holds one. */
  readonly leasedUntil: Instant | null;
  /** When it was settled; null while it is owed. */
  readonly completedAt: Instant | null;
  /** `Type: message` of the last failure, or null. */
  readonly lastError: string | null;
}

/** What is owed and what has ended badly, overall and by receiver. */
export interface HealthRecord {
  /** Due now or running: pending, failed and claimed rows that are not scheduled for later. */
  readonly owed: number;
  /** Owed, but scheduled for a later moment. */
  readonly scheduled: number;
  /** Owed under a live lease. */
  readonly claimed: number;
  /** Owed under a lease that has lapsed. */
  readonly lapsed: number;
  /** Out of attempts, undecodable, or lapsed too often. */
  readonly dead: number;
  /** Addressed to a receiver that nobody lists. */
  readonly orphaned: number;
  /** When the oldest owed row became owed, or null. */
  readonly oldestOwedSince: Instant | null;
  /** Receivers with anything owed or dead, most owed first. */
  readonly receivers: readonly ReceiverHealthRecord[];
}

/** One receiver's part of the health. */
export interface ReceiverHealthRecord {
  /** The receiver's key. */
  readonly key: string;
  /** Due now or running. */
  readonly owed: number;
  /** Owed, but scheduled for a later moment. */
  readonly scheduled: number;
  /** Owed under a live lease. */
  readonly claimed: number;
  /** Owed under a lease that has lapsed. */
  readonly lapsed: number;
  /** Out of attempts, undecodable, or lapsed too often. */
  readonly dead: number;
  /** Written for this key when nobody listed it. */
  readonly orphaned: number;
  /** When its oldest owed row became owed, or null when nothing is owed. */
  readonly oldestOwedSince: Instant | null;
}
