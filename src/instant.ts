/**
 * An instant in microseconds since the Unix epoch. Both databases keep microseconds and a `Date` does not,
 * so this is what crosses the storage seam; fences are compared at this precision.
 */
export type Instant = bigint;

/** What users may pass as an instant: a `Date`, or anything with `epochMilliseconds` such as a `Temporal.Instant`. */
export type InstantLike = Date | { readonly epochMilliseconds: number };

// What a `Date` can hold; beyond it no database's column could either.
const MAX_MILLISECONDS = 8.64e15;

/** The `Date` of an instant, cut to whole milliseconds. */
export function dateOf(instant: Instant): Date {
  return new Date(Number(instant / 1000n));
}

/**
 * The instant of a user's value.
 *
 * @throws {TypeError} when it is neither a valid `Date` nor has `epochMilliseconds` in a `Date`'s range; `what` names it.
 */
export function instantOf(value: InstantLike, what: string): Instant {
  const milliseconds = value instanceof Date
    ? value.getTime()
    : (value as { epochMilliseconds?: unknown } | null)?.epochMilliseconds;
  if (typeof milliseconds !== "number" || !(Math.abs(milliseconds) <= MAX_MILLISECONDS)) {
    throw new TypeError(`Cannot use ${what}: expected a valid Date or an object with epochMilliseconds`);
  }
  return BigInt(Math.trunc(milliseconds)) * 1000n;
}
