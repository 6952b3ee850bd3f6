import type { Instant } from "../../instant.ts";
import { deletedEvent } from "../deleted_event.ts";
import type { ClaimedDelivery, DeliveryRecord, EventRecord, HealthRecord, ReceiverHealthRecord } from "../records.ts";
import type { Status } from "../states.ts";
import type { Row } from "./clients/client.ts";

/** Microseconds from 1970 to 2000, where the server's own count begins. */
const EPOCH = 946_684_800_000_000n;

/** The SQL that gives a timestamp as `instant` reads it: the server's own eight bytes, exact and cheapest to make. */
export function sent(expression: string): string {
  return `encode(timestamptz_send(${expression}), 'hex')`;
}

/** The instant in a column made by `sent`. */
export function instant(column: unknown): Instant {
  return BigInt.asIntN(64, BigInt(`0x${column}`)) + EPOCH;
}

function instantOrNull(column: unknown): Instant | null {
  return column === null ? null : instant(column);
}

let stamped: { readonly at: Instant; readonly text: string } = { at: -1n, text: "" };

/** A parameter for `$n::text::timestamptz`; a driver's own timestamps would lose the microseconds. */
export function stamp(at: Instant): string {
  // The rows of a claim share its moment.
  if (at !== stamped.at) stamped = { at, text: textOf(at) };
  return stamped.text;
}

function textOf(at: Instant): string {
  let seconds = at / 1_000_000n;
  let micros = at % 1_000_000n;
  if (micros < 0n) {
    micros += 1_000_000n;
    seconds -= 1n;
  }
  const date = new Date(Number(seconds) * 1000);
  const year = date.getUTCFullYear();
  if (!(year > 0)) throw new RangeError(`Cannot store an instant outside the years 1 to 275760`);
  // ISO 8601 begins years of more than four digits with a sign, which the server does not read.
  return `${date.toISOString().replace("+", "").slice(0, -5)}.${micros.toString().padStart(6, "0")}Z`;
}

/** The same, or null. */
export function stampOrNull(at: Instant | null | undefined): string | null {
  return at === null || at === undefined ? null : stamp(at);
}

function text(column: unknown): string | null {
  return column === null ? null : String(column);
}

/** The columns of `EVENT` in statements/shared.ts. */
export function eventOf(row: Row, from = 0): EventRecord {
  return {
    id: String(row[from]),
    name: String(row[from + 1]),
    version: Number(row[from + 2]),
    key: text(row[from + 3]),
    topic: text(row[from + 4]),
    payload: String(row[from + 5]),
    occurredAt: instant(row[from + 6]),
    actor: text(row[from + 7]),
    actorLabel: text(row[from + 8]),
    scope: text(row[from + 9]),
    correlationId: text(row[from + 10]),
    causationId: text(row[from + 11]),
    trace: text(row[from + 12]),
  };
}

/** What a claim returns. */
export function claimedOf(row: Row, worker: string): ClaimedDelivery {
  return {
    fence: { id: String(row[0]), claimedBy: worker, claimedAt: instant(row[1]) },
    receiverKey: String(row[2]),
    target: String(row[3]),
    attempts: Number(row[4]),
    maxAttempts: Number(row[5]),
    lapses: Number(row[6]),
    availableAt: instant(row[7]),
    dueAt: instantOrNull(row[8]),
    owedSince: instant(row[9]),
    claimedNow: instant(row[10]),
    event: row[12] === null ? deletedEvent(String(row[11])) : eventOf(row, 11),
  };
}

/** The seed's order; RETURNING has none. */
export function inOrder(a: ClaimedDelivery, b: ClaimedDelivery): number {
  if (a.availableAt !== b.availableAt) return a.availableAt < b.availableAt ? -1 : 1;
  const left = BigInt(a.fence.id);
  const right = BigInt(b.fence.id);
  return left < right ? -1 : left > right ? 1 : 0;
}

/** What `findDeliveries` returns. */
export function deliveryOf(row: Row): DeliveryRecord {
  return {
    id: String(row[0]),
    eventId: String(row[1]),
    receiverKey: String(row[2]),
    target: String(row[3]),
    status: String(row[4]) as Status,
    attempts: Number(row[5]),
    maxAttempts: Number(row[6]),
    lapses: Number(row[7]),
    availableAt: instant(row[8]),
    dueAt: instantOrNull(row[9]),
    owedSince: instant(row[10]),
    claimedBy: text(row[11]),
    claimedAt: instantOrNull(row[12]),
    leasedUntil: instantOrNull(row[13]),
    completedAt: instantOrNull(row[14]),
    lastError: text(row[15]),
  };
}

/** One receiver's row of `health`. */
function receiverHealthOf(row: Row): ReceiverHealthRecord {
  return {
    key: String(row[0]),
    owed: Number(row[1]),
    scheduled: Number(row[2]),
    claimed: Number(row[3]),
    lapsed: Number(row[4]),
    dead: Number(row[5]),
    orphaned: Number(row[6]),
    oldestOwedSince: instantOrNull(row[7]),
  };
}

/** The rows of `health`, summed up. */
export function healthOf(rows: readonly Row[]): HealthRecord {
  const receivers = rows.map(receiverHealthOf);
  const sum = (count: (receiver: ReceiverHealthRecord) => number): number =>
    receivers.reduce((total, receiver) => total + count(receiver), 0);
  let oldest: Instant | null = null;
  for (const { oldestOwedSince: since } of receivers) {
    if (since !== null && (oldest === null || since < oldest)) oldest = since;
  }
  return {
    owed: sum((receiver) => receiver.owed),
    scheduled: sum((receiver) => receiver.scheduled),
    claimed: sum((receiver) => receiver.claimed),
    lapsed: sum((receiver) => receiver.lapsed),
    dead: sum((receiver) => receiver.dead),
    orphaned: sum((receiver) => receiver.orphaned),
    oldestOwedSince: oldest,
    receivers,
  };
}
