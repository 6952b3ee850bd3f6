import { DELIVERY, EVENT, part } from "../shapes.ts";
import { dueOf, nowOr, type Tables } from "./shared.ts";

/** What a fire writes, and takes back; and what a replay adds. */
export interface FireStatements {
  readonly appendEvents: string;
  readonly appendEventsOnce: string;
  readonly appendDeliveries: string;
  readonly appendScheduled: string;
  readonly appendMissing: string;
  readonly retractDeliveries: string;
  readonly retractEvents: string;
}

/** The statements of `append` and `retract`, and of what `reopen` adds. */
export function fireStatements({ events, deliveries }: Tables): FireStatements {
  const newEvent = (name: typeof EVENT[number]) => part("value", EVENT, name);
  const appendEvents = `
    insert into ${events} (id, name, version, key, topic, payload, occurred_at, recorded_at, actor, actor_label, scope,
      correlation_id, causation_id, trace, dedupe_key, suppressed_reason, retention_seconds, delete_when)
    select ${newEvent("id")}, ${newEvent("name")}, ${newEvent("version")}, ${newEvent("key")}, ${newEvent("topic")},
      ${newEvent("payload")}, coalesce(${newEvent("occurredAt")}, ${nowOr(2)}), ${nowOr(2)}, ${newEvent("actor")},
      ${newEvent("actorLabel")}, ${newEvent("scope")}, ${newEvent("correlationId")}, ${newEvent("causationId")},
      ${newEvent("trace")}, ${newEvent("dedupeKey")}, ${newEvent("suppressedReason")},
      ${newEvent("retentionSeconds")}, ${newEvent("deleteWhen")}
    from json_each(?1) where true`;

  const newDelivery = (name: typeof DELIVERY[number]) => part("value", DELIVERY, name);
  const insertDeliveries = (dueAt: string, availableAt: string) => `
    insert into ${deliveries} (event_id, receiver_key, target, target_digest, max_attempts, order_key, due_at,
      available_at, owed_since)
    select ${newDelivery("eventId")}, ${newDelivery("receiverKey")}, ${newDelivery("target")},
      unhex(${newDelivery("targetDigest")}), ${newDelivery("maxAttempts")}, ${newDelivery("orderKey")},
      ${dueAt}, ${availableAt}, ${nowOr(2)}
    from json_each(?1) where exists (select 1 from ${events} e where e.id = ${newDelivery("eventId")})`;
  // Never due before they are written, else a floor under the claim could pass them by.
  const due = dueOf("value", nowOr(2));
  const insertScheduled = insertDeliveries(due, `max(coalesce(${due}, 0), ${nowOr(2)})`);

  return {
    // One statement for any number of events. `where true` keeps the parser from reading ON CONFLICT as a join.
    appendEvents,
    // Where a dedupe key is given: a taken one leaves the row that is there, and RETURNING then gives its id. The
    // update writes the value that it finds, because DO NOTHING would return nothing. Only that index is forgiven.
    appendEventsOnce: `${appendEvents}
    on conflict (name, dedupe_key) where dedupe_key is not null do update set dedupe_key = excluded.dedupe_key
    returning json_object('id', id, 'name', name, 'dedupeKey', dedupe_key) as row`,
    // Debts of the events that were written, and of no duplicate. Nearly all are due at once, and to read
    // moments from them that they have not would cost a tenth.
    appendDeliveries: insertDeliveries("null", nowOr(2)),
    appendScheduled: insertScheduled,
    // For a replay: those that are there already, owed or settled, stay as they are.
    appendMissing: `${insertScheduled}
    on conflict (event_id, receiver_key, target_digest) do nothing returning 1 as row`,

    // Children first: there is no foreign key that would do it.
    retractDeliveries: `delete from ${deliveries} where event_id in (select value from json_each(?1))`,
    retractEvents: `delete from ${events} where id in (select value from json_each(?1))`,
  };
}
