/** The curve of a receiver's retries, in milliseconds. */
export interface Curve {
  /** The ceiling of the first wait. */
  readonly baseMs: number;
  /** The highest ceiling. */
  readonly capMs: number;
}

/** The longest that the wait after this attempt can be: doubling from the base up to the cap. */
export function ceilingMs(curve: Curve, attempt: number): number {
  // Infinity from a huge exponent is capped like any other value.
  return Math.min(curve.baseMs * 2 ** (attempt - 1), curve.capMs);
}

/**
 * The wait after a failed attempt. Full jitter: drawn from the whole window below the ceiling, so that deliveries which
 * failed together do not come back together.
 *
 * @param random a number from 0 up to but not including 1
 */
export function backoffMs(curve: Curve, attempt: number, random: number): number {
  return ceilingMs(curve, attempt) * random;
}
