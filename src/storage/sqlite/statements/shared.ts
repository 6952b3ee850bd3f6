import type { Names } from "../names.ts";
import { DELIVERY, part } from "../shapes.ts";

/** The database's own: milliseconds are all it has. Rounded first, since 1.7e15 as a float is off by a fraction. */
export const CLOCK = "cast(round(unixepoch('subsec') * 1000) as integer) * 1000";

/** The parameter with this number, or the clock. It is constant within a statement. */
export function nowOr(parameter: number): string {
  return `coalesce(?${parameter}, ${CLOCK})`;
}

/** The columns of an event, and its payload beside them: what is large is not escaped once more. */
export const EVENT_ROW =
  `json_array(id, name, version, key, topic, cast(occurred_at as text), actor, actor_label, scope,
    correlation_id, causation_id, trace) as row, payload`;

/** When a debt is due; null for at once. */
export function dueOf(value: string, now: string): string {
  return `coalesce(${part(value, DELIVERY, "dueAt")}, ${now} + (${part(value, DELIVERY, "dueIn")}))`;
}

/** The tables of a prefix. */
export interface Tables {
  readonly events: string;
  readonly deliveries: string;
  readonly receivers: string;
  readonly successes: string;
  readonly migrations: string;
  /** The unique index of an event's deliveries. */
  readonly eventIndex: string;
  /** The partial indexes that whole scans go through. */
  readonly owedIndex: string;
  readonly endedIndex: string;
}

/** Their quoted names. */
export function tablesOf(names: Names): Tables {
  return {
    events: names("events"),
    deliveries: names("deliveries"),
    receivers: names("receivers"),
    successes: names("receiver_successes"),
    migrations: names("migrations"),
    eventIndex: names("deliveries_event"),
    owedIndex: names("deliveries_owed"),
    endedIndex: names("deliveries_ended"),
  };
}
