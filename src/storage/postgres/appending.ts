import type { Instant } from "../../instant.ts";
import type { NewDelivery, NewEvent } from "../records.ts";
import type { Appended } from "../storage.ts";
import type { Parameter, Prepare, Session } from "./clients/client.ts";
import { stampOrNull } from "./rows.ts";
import type { Statements } from "./statements.ts";

const NO_DUPLICATES: ReadonlyMap<string, string> = new Map();

/**
 * Writes events and their debts with one statement; a second only where a dedupe key was taken.
 *
 * @throws {TypeError} when the joined transaction has ended; nothing was written
 */
export async function append(
  on: Session,
  statements: Statements,
  events: readonly NewEvent[],
  deliveries: readonly NewDelivery[],
  now: Instant | undefined,
  prepare: Prepare,
  mark: string | null,
): Promise<Appended> {
  if (events.length === 0) return { duplicates: NO_DUPLICATES };
  const debts = debtsText(deliveries);
  const at = stampOrNull(now);
  const [only] = events;
  if (events.length === 1 && only !== undefined && only.dedupeKey === null) {
    const refused = await on.run(statements.appendOne, [debts, at, ...columnsOf(only), mark], prepare);
    if (refused.length > 0) throw tooLate();
    return { duplicates: NO_DUPLICATES };
  }
  const parameters = [JSON.stringify(inOneOrder(events).map(rowOf)), debts, at, mark];
  const taken = await on.run(statements.append, parameters, prepare);
  if (taken.length === 0) return { duplicates: NO_DUPLICATES };
  if (taken[0]?.[3] === "false") throw tooLate();
  const wanted = JSON.stringify(taken.map(([id, name, key]) => ({ id, name, key })));
  const found = await on.run(statements.duplicates, [wanted], prepare);
  return { duplicates: new Map(found.map(([id, existing]) => [String(id), String(existing)])) };
}

function tooLate(): TypeError {
  return new TypeError("Cannot fire: the transaction has ended; await the fire before it commits");
}

/**
 * By dedupe key, the first of a key staying first: two transactions that insert the same keys in different orders would
 * wait for each other.
 */
function inOneOrder(events: readonly NewEvent[]): NewEvent[] {
  const rank = ({ name, dedupeKey }: NewEvent): string => dedupeKey === null ? "" : JSON.stringify([name, dedupeKey]);
  return events.map((event) => ({ event, rank: rank(event) }))
    .sort((a, b) => a.rank < b.rank ? -1 : a.rank > b.rank ? 1 : 0)
    .map(({ event }) => event);
}

function columnsOf(event: NewEvent): Parameter[] {
  return [
    event.id,
    event.name,
    event.version,
    event.key,
    event.topic,
    event.payload,
    stampOrNull(event.occurredAt),
    event.actor,
    event.actorLabel,
    event.scope,
    event.correlationId,
    event.causationId,
    event.trace,
    event.suppressedReason,
    event.retentionSeconds,
    event.deleteWhen,
  ];
}

function rowOf(event: NewEvent): Record<string, Parameter> {
  return {
    id: event.id,
    name: event.name,
    version: event.version,
    key: event.key,
    topic: event.topic,
    payload: event.payload,
    occurred_at: stampOrNull(event.occurredAt),
    actor: event.actor,
    actor_label: event.actorLabel,
    scope: event.scope,
    correlation_id: event.correlationId,
    causation_id: event.causationId,
    trace: event.trace,
    dedupe_key: event.dedupeKey,
    suppressed_reason: event.suppressedReason,
    retention_seconds: event.retentionSeconds,
    delete_when: event.deleteWhen,
  };
}

/** Debts as `append` and `reopen` read them. What is null is left out: most are due at once and in no order. */
export function debtsText(deliveries: readonly NewDelivery[]): string {
  return JSON.stringify(deliveries.map((delivery) => ({
    e: delivery.eventId,
    k: delivery.receiverKey,
    t: delivery.target,
    m: delivery.maxAttempts,
    o: delivery.orderKey ?? undefined,
    d: stampOrNull(delivery.dueAt) ?? undefined,
    w: delivery.dueInMs ?? undefined,
  })));
}
