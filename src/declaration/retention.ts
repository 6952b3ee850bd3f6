import { type Duration, millisecondsOf } from "../duration.ts";

/**
 * How long an event is to be kept: a time of its own, or until every debt of it has succeeded (`"succeeded"`) or has
 * ended in any way (`"settled"`). It is stored; nothing prunes yet.
 */
export type Retention = Duration | "succeeded" | "settled";

/** How a retention is stored on the event's row at fire. At most one of the two is set. */
export interface StoredRetention {
  /** Whole seconds, or null. */
  readonly retentionSeconds: number | null;
  /** The end of its debts that lets the event go, or null. */
  readonly deleteWhen: "succeeded" | "settled" | null;
}

// What an `integer` column holds: about 68 years.
const MAX_SECONDS = 2 ** 31 - 1;

/**
 * Checks a retention and gives its stored form.
 *
 * @throws {TypeError} for a bare number or an unknown word.
 * @throws {RangeError} for a time that is no whole number of seconds from 1 to 2^31 - 1.
 */
export function storedRetention(retention: Retention | undefined, what: string): StoredRetention {
  if (retention === undefined) return { retentionSeconds: null, deleteWhen: null };
  if (retention === "succeeded" || retention === "settled") return { retentionSeconds: null, deleteWhen: retention };
  if (typeof retention === "string") {
    throw new TypeError(
      `Cannot use ${what}: "${retention}" is unknown, allowed are "succeeded", "settled" or a duration`,
    );
  }
  const seconds = millisecondsOf(retention, what) / 1000;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > MAX_SECONDS) {
    throw new RangeError(
      `Cannot use ${what}: a retention is a whole number of seconds from 1 to ${MAX_SECONDS}, got ${seconds} seconds`,
    );
  }
  return { retentionSeconds: seconds, deleteWhen: null };
}
