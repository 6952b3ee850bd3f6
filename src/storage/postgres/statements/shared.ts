import type { Statement } from "../clients/client.ts";
import { digest, quoted } from "../identifiers.ts";
import { sent } from "../rows.ts";

const EVENT_BUT_ID = `e.name, e.version, e.key, e.topic, e.payload::text, ${sent("e.occurred_at")}, e.actor,
    e.actor_label, e.scope::text, e.correlation_id, e.causation_id, e.trace::text`;

/** The columns that an `EventRecord` is read from, in the order of `eventOf`. */
export const EVENT = `e.id::text, ${EVENT_BUT_ID}`;

/** The columns that a `ClaimedDelivery` is read from, of a row `u` that was leased at that moment and its event `e`. */
export function claimed(now: string): string {
  return `u.id::text, ${sent("u.claimed_at")}, u.receiver_key, u.target, u.attempts, u.max_attempts, u.lapses,
    ${sent("u.available_at")}, ${sent("u.due_at")}, ${sent("u.owed_since")}, ${
    sent(now)
  }, u.event_id::text, ${EVENT_BUT_ID}`;
}

/** A debt as it travels in JSON: event, receiver, target, attempts, ordering key, due moment, or the wait until then. */
export const DEBT = "e uuid, k text, t text, m int, o text, d timestamptz, w float8";

/** When a debt is due; null for at once. */
export function dueOf(debt: string, now: string): string {
  return `coalesce(${debt}.d, ${now} + ${debt}.w * interval '1 millisecond')`;
}

/** The clock: the database's, unless a test passed its own. Stable, so that an index can be searched by it. */
export function clock(parameter: number): string {
  return `coalesce($${parameter}::text::timestamptz, statement_timestamp())`;
}

/**
 * Whether this is still the joined transaction of that mark; null for a transaction that is ended here. What nobody
 * awaited can reach the connection after its end, where it would commit by itself, or in somebody else's transaction: an
 * event for a change that may have been rolled back. The mark is gone then, and nothing may happen; an error neither,
 * since that would break the transaction which it has strayed into.
 */
export function isMarked(parameter: number): string {
  return `coalesce($${parameter}::text = current_setting('owed.joined', true), $${parameter}::text is null)`;
}

/** Only under this very claim, and only once: a claim that was settled has no lease any more. */
export function fence(id: string, by: string, at: string): string {
  return `d.id = ${id} and d.claimed_by = ${by} and d.claimed_at = ${at} and d.completed_at is null
      and d.leased_until is not null`;
}

/** A schema's name in SQL, and the names of its statements. */
export interface Schema {
  /** Quoted. */
  readonly owed: string;
  /** Names differ where texts do: `pg` refuses one name for two texts. */
  named(verb: string, text: string): Statement;
  /** The same for a text that is made for sizes, made once for each. */
  once(verb: string, sizes: readonly number[], text: () => string): Statement;
}

/** The schema of a checked name. */
export function schemaOf(schema: string): Schema {
  const tag = digest(schema).slice(0, 8);
  const made = new Map<string, Statement>();
  function named(verb: string, text: string): Statement {
    return { name: `owed_${verb}_${tag}_${digest(text).slice(0, 8)}`, text };
  }
  return {
    owed: quoted(schema),
    named,
    once(verb, sizes, text) {
      const key = `${verb} ${sizes}`;
      let statement = made.get(key);
      if (statement === undefined) made.set(key, statement = named(verb, text()));
      return statement;
    },
  };
}
