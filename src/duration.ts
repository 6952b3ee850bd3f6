/**
 * A length of time with its units named, as `Temporal.Duration.from` takes it. Bare numbers are refused everywhere,
 * because nothing says whether they are seconds or milliseconds.
 *
 * @example Five minutes and a half
 * ```ts
 * import type { Duration } from "@owed/outbox";
 * const wait: Duration = { minutes: 5, seconds: 30 };
 * ```
 */
export interface Duration {
  /** Weeks of seven days. */
  readonly weeks?: number;
  /** Days of 24 hours. */
  readonly days?: number;
  /** Hours. */
  readonly hours?: number;
  /** Minutes. */
  readonly minutes?: number;
  /** Seconds. */
  readonly seconds?: number;
  /** Milliseconds. */
  readonly milliseconds?: number;
}

const UNITS = {
  weeks: 604_800_000,
  days: 86_400_000,
  hours: 3_600_000,
  minutes: 60_000,
  seconds: 1000,
  milliseconds: 1,
} as const;

// What a Temporal.Duration has beyond ours: years and months have no fixed length, the small ones are below our precision.
const UNUSABLE = ["years", "months", "microseconds", "nanoseconds"] as const;

/**
 * The milliseconds of a duration.
 *
 * @throws {TypeError} for a bare number, an unknown unit or a value that is no finite number; `what` names the setting.
 */
export function millisecondsOf(duration: Duration, what: string): number {
  if (typeof duration !== "object" || duration === null || Array.isArray(duration)) {
    throw new TypeError(
      `Cannot use ${what}: expected a duration with its unit such as { seconds: 5 }, got ${describe(duration)}`,
    );
  }
  for (const unit of Object.keys(duration)) {
    if (!Object.hasOwn(UNITS, unit)) {
      throw new TypeError(`Cannot use ${what}: unknown unit "${unit}", allowed are ${Object.keys(UNITS).join(", ")}`);
    }
  }
  const given = duration as Readonly<Record<string, unknown>>;
  for (const unit of UNUSABLE) {
    if (given[unit]) throw new TypeError(`Cannot use ${what}: ${unit} have no fixed length in whole milliseconds`);
  }
  let total = 0;
  let named = false;
  for (const [unit, milliseconds] of Object.entries(UNITS)) {
    const amount = given[unit];
    if (amount === undefined) continue;
    if (typeof amount !== "number" || !Number.isFinite(amount)) {
      throw new TypeError(`Cannot use ${what}: ${unit} must be a finite number, got ${describe(amount)}`);
    }
    named = true;
    total += amount * milliseconds;
  }
  if (!named) {
    throw new TypeError(`Cannot use ${what}: the duration names no unit, expected one such as { seconds: 5 }`);
  }
  return total;
}

function describe(value: unknown): string {
  return typeof value === "number" ? `the bare number ${value}` : value === null ? "null" : typeof value;
}

const CENTURY_MS = 36_525 * UNITS.days;

/** The milliseconds of a duration that no timer is set to: from so many up to what any database's moment can hold. */
export function untimed(duration: Duration, leastMs: 0 | 1, what: string): number {
  const milliseconds = millisecondsOf(duration, what);
  if (milliseconds >= leastMs && milliseconds <= CENTURY_MS) return milliseconds;
  const least = leastMs === 0 ? "nothing" : "1 millisecond";
  throw new RangeError(`Cannot use ${what}: expected from ${least} to 100 years, got ${milliseconds} ms`);
}

/** As {@linkcode positive}, for a duration that may be left out. */
export function optional(duration: Duration | undefined, what: string): number | undefined {
  return duration === undefined ? undefined : positive(duration, what);
}

/** The whole milliseconds of a duration that must be longer than nothing and fit a timer (about 24.8 days). */
export function positive(duration: Duration, what: string): number {
  const milliseconds = millisecondsOf(duration, what);
  if (milliseconds < 1 || milliseconds > 2 ** 31 - 1) {
    throw new RangeError(`Cannot use ${what}: expected from 1 millisecond to 24 days, got ${milliseconds} ms`);
  }
  // { seconds: 2.01 } comes to 2009.9999999999998.
  return Math.round(milliseconds);
}
