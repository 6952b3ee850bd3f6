/** Rows become records here. Statements give one JSON text per row, with integers above 2^53 in it as text. */
import type { Instant } from "../../instant.ts";
import { deletedEvent } from "../deleted_event.ts";
import type { ClaimedDelivery, DeliveryRecord, EventRecord, HealthRecord, ReceiverHealthRecord } from "../records.ts";
import type { Status } from "../states.ts";
import type { Row } from "./clients/client.ts";

type Columns = Readonly<Record<string, unknown>>;

/** The columns of a row, by position. */
export function arrayOf(row: Row): unknown[] {
  return JSON.parse(String(row.row));
}

/** The columns of a row, by name. */
export function jsonOf(row: Row): Columns {
  return JSON.parse(String(row.row));
}

/** The claims, as `claimKey` names them, of rows that hold nothing else. */
export function claimKeysOf(rows: readonly Row[]): Set<string> {
  return new Set(rows.map((row) => String(row.row)));
}

/** What `claim` and its like found. */
export interface Candidate {
  readonly id: string;
  readonly eventId: string;
  /** Its place in the list of receivers. */
  readonly receiver: number;
}

/** A row of `claim` and its like. */
export function candidateOf(row: Row): Candidate {
  const [id, eventId, receiver] = arrayOf(row);
  return { id: String(id), eventId: String(eventId), receiver: Number(receiver) };
}

/** A row of `eventsById` or `findEvents`. */
export function eventOf(row: Row): EventRecord {
  const columns = arrayOf(row);
  const [id, name, version, key, topic, occurredAt, actor, actorLabel, scope, correlationId, causationId, trace] =
    columns;
  return {
    id: String(id),
    name: String(name),
    version: Number(version),
    key: textOrNull(key),
    topic: textOrNull(topic),
    payload: String(row.payload),
    occurredAt: instant(occurredAt),
    actor: textOrNull(actor),
    actorLabel: textOrNull(actorLabel),
    scope: textOrNull(scope),
    correlationId: textOrNull(correlationId),
    causationId: textOrNull(causationId),
    trace: textOrNull(trace),
  };
}

/** Rows of `lease` with their events, in the order of the queue. */
export function claimedOf(rows: readonly Row[], events: readonly Row[], worker: string): ClaimedDelivery[] {
  const byId = new Map(events.map(eventOf).map((event) => [event.id, event]));
  const claimed = rows.map((row): ClaimedDelivery => {
    const columns = arrayOf(row);
    const [id, eventId, receiverKey, target, attempts, maxAttempts, lapses, claimedAt, ...times] = columns;
    const [availableAt, dueAt, owedSince, now] = times;
    return {
      fence: { id: String(id), claimedBy: worker, claimedAt: instant(claimedAt) },
      receiverKey: String(receiverKey),
      target: String(target),
      attempts: Number(attempts),
      maxAttempts: Number(maxAttempts),
      lapses: Number(lapses),
      availableAt: instant(availableAt),
      dueAt: instantOrNull(dueAt),
      owedSince: instant(owedSince),
      claimedNow: instant(now),
      event: byId.get(String(eventId)) ?? deletedEvent(String(eventId)),
    };
  });
  return claimed.sort(byPosition);
}

/** RETURNING has no order. */
function byPosition(a: ClaimedDelivery, b: ClaimedDelivery): number {
  if (a.availableAt !== b.availableAt) return a.availableAt < b.availableAt ? -1 : 1;
  return BigInt(a.fence.id) < BigInt(b.fence.id) ? -1 : 1;
}

/** A row of `findDeliveries`. */
export function deliveryOf(row: Row): DeliveryRecord {
  const columns = jsonOf(row);
  return {
    id: String(columns.id),
    eventId: String(columns.eventId),
    receiverKey: String(columns.receiverKey),
    target: String(columns.target),
    status: columns.status as Status,
    attempts: Number(columns.attempts),
    maxAttempts: Number(columns.maxAttempts),
    lapses: Number(columns.lapses),
    availableAt: instant(columns.availableAt),
    dueAt: instantOrNull(columns.dueAt),
    owedSince: instant(columns.owedSince),
    claimedBy: textOrNull(columns.claimedBy),
    claimedAt: instantOrNull(columns.claimedAt),
    leasedUntil: instantOrNull(columns.leasedUntil),
    completedAt: instantOrNull(columns.completedAt),
    lastError: textOrNull(columns.lastError),
  };
}

/** Rows of `health`, most owed first. */
export function healthOf(rows: readonly Row[]): HealthRecord {
  const receivers = rows.map((row): ReceiverHealthRecord => {
    const columns = jsonOf(row);
    return { ...columns as unknown as ReceiverHealthRecord, oldestOwedSince: instantOrNull(columns.oldestOwedSince) };
  });
  const sum = (count: (receiver: ReceiverHealthRecord) => number) =>
    receivers.reduce((all, one) => all + count(one), 0);
  const since = receivers.map((receiver) => receiver.oldestOwedSince).filter((at) => at !== null);
  return {
    owed: sum((one) => one.owed),
    scheduled: sum((one) => one.scheduled),
    claimed: sum((one) => one.claimed),
    lapsed: sum((one) => one.lapsed),
    dead: sum((one) => one.dead),
    orphaned: sum((one) => one.orphaned),
    oldestOwedSince: since.length === 0 ? null : since.reduce((oldest, at) => at < oldest ? at : oldest),
    receivers,
  };
}

function instant(column: unknown): Instant {
  return BigInt(column as string);
}

function instantOrNull(column: unknown): Instant | null {
  return column === null ? null : instant(column);
}

function textOrNull(column: unknown): string | null {
  return column === null ? null : String(column);
}
