import { type Duration, millisecondsOf, positive } from "../duration.ts";
import type { PayloadLimits } from "./payload.ts";
import type { Backoff } from "./receiver_options.ts";
import { refuseUnknown, requireInteger, show } from "./refusals.ts";

/** Deliveries that run at a time in a relay, where nobody says otherwise. */
export const DEFAULT_CONCURRENCY = 10;

/** Settings of an outbox, all optional. Each is refused by name when it is out of range. */
export interface Settings {
  /** Rows of one claim, 1 to 1000. Default 100. */
  readonly batchSize?: number;
  /** Deliveries that run at a time in a relay, 1 to 1000. Default 10; `:memory:` always 1. */
  readonly concurrency?: number;
  /** How long a claim lasts without renewal, which happens every third of it. Default 60 seconds. */
  readonly lease?: Duration;
  /** How long an attempt may run; `null` lifts the limit. Default 5 minutes. */
  readonly timeout?: Duration | null;
  /** The longest a relay sleeps; it is the floor under the wake. Default 1 second. */
  readonly poll?: Duration;
  /** Whether a fire wakes the relays after its commit, or they only poll. Default `"notify"`. */
  readonly wake?: "notify" | "poll";
  /** Shortest time between two wakes that this process sends, from 0 up; the last one is never lost. Default 10 ms. */
  readonly notifyCoalesce?: Duration;
  /** The retry curve of receivers without one. Default base 2 seconds, cap 1 hour. */
  readonly backoff?: Backoff;
  /** Attempts before a delivery is dead, frozen on its row at fire. Default 5. */
  readonly maxAttempts?: number;
  /** Claims that may lapse without an outcome before the delivery is dead. Default 5. */
  readonly maxLapses?: number;
  /** The longest wait that a receiver may ask for with `RetryAfter`; a longer one is cut to it. Default 1 day. */
  readonly maxRetryAfter?: Duration;
  /** How long a row waits for a process that knows its receiver. Default 15 minutes. */
  readonly orphanAfter?: Duration;
  /** Bytes of a payload's JSON, up to 64 MiB. Default 1 MiB; a warning is logged from 64 KiB. */
  readonly maxPayloadBytes?: number;
  /** Arrays and objects inside each other, 1 to 500. Default 64. */
  readonly maxPayloadDepth?: number;
  /**
   * Whether `transaction` and `joining` resolve after the on-commit receivers and eager attempts (`"await"`), or leave
   * them running until `close` (`"background"`). Default `"await"`.
   */
  readonly afterCommit?: "await" | "background";
  /** Whether `fire` outside a transaction logs a warning, once per event name. Default true. */
  readonly warnOutsideTransaction?: boolean;
}

/** The settings as the code reads them. */
export interface ResolvedSettings {
  readonly batchSize: number;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly timeoutMs: number | null;
  readonly pollMs: number;
  readonly wake: "notify" | "poll";
  readonly notifyCoalesceMs: number;
  readonly backoffBaseMs: number;
  readonly backoffCapMs: number;
  readonly maxAttempts: number;
  readonly maxLapses: number;
  readonly maxRetryAfterMs: number;
  readonly orphanAfterMs: number;
  readonly payload: PayloadLimits;
  readonly afterCommit: "await" | "background";
  readonly warnOutsideTransaction: boolean;
}

const NAMES = [
  "batchSize",
  "concurrency",
  "lease",
  "timeout",
  "poll",
  "wake",
  "notifyCoalesce",
  "backoff",
  "maxAttempts",
  "maxLapses",
  "maxRetryAfter",
  "orphanAfter",
  "maxPayloadBytes",
  "maxPayloadDepth",
  "afterCommit",
  "warnOutsideTransaction",
];

/**
 * Checks the settings and fills in the defaults.
 *
 * @throws {TypeError | RangeError} naming the setting and what is allowed
 */
export function resolveSettings(given: Settings): ResolvedSettings {
  refuseUnknown(given, NAMES, "use the settings");
  const integer = (name: keyof Settings, fallback: number, min: number, max: number): number => {
    const { [name]: value = fallback } = given;
    requireInteger(value, min, max, `the setting ${name}`);
    return value;
  };
  const duration = (name: "lease" | "poll" | "maxRetryAfter" | "orphanAfter", fallback: Duration): number =>
    positive(given[name] === undefined ? fallback : given[name], `the setting ${name}`);
  const { backoff = {}, timeout = { minutes: 5 }, warnOutsideTransaction = true } = given;
  refuseUnknown(backoff, ["base", "cap"], "use the setting backoff");
  const { base: baseGiven = { seconds: 2 }, cap: capGiven = { hours: 1 } } = backoff;
  const base = positive(baseGiven, "the setting backoff.base");
  const cap = positive(capGiven, "the setting backoff.cap");
  if (cap < base) {
    throw new RangeError(`Cannot use the setting backoff: cap (${cap} ms) must be at least base (${base} ms)`);
  }
  return Object.freeze({
    batchSize: integer("batchSize", 100, 1, 1000),
    concurrency: integer("concurrency", DEFAULT_CONCURRENCY, 1, 1000),
    leaseMs: duration("lease", { seconds: 60 }),
    timeoutMs: timeout === null ? null : positive(timeout, "the setting timeout"),
    pollMs: duration("poll", { seconds: 1 }),
    wake: oneOf("wake", given.wake, ["notify", "poll"]),
    notifyCoalesceMs: coalescing(given.notifyCoalesce),
    backoffBaseMs: base,
    backoffCapMs: cap,
    maxAttempts: integer("maxAttempts", 5, 1, 32767),
    maxLapses: integer("maxLapses", 5, 1, 32767),
    maxRetryAfterMs: duration("maxRetryAfter", { days: 1 }),
    orphanAfterMs: duration("orphanAfter", { minutes: 15 }),
    payload: Object.freeze({
      maxBytes: integer("maxPayloadBytes", 1024 * 1024, 2, 64 * 1024 * 1024),
      maxDepth: integer("maxPayloadDepth", 64, 1, 500),
    }),
    afterCommit: oneOf("afterCommit", given.afterCommit, ["await", "background"]),
    warnOutsideTransaction: flag("warnOutsideTransaction", warnOutsideTransaction),
  });
}

// Nothing at all is allowed here: then every fire sends a wake.
function coalescing(given: Duration | undefined): number {
  if (given === undefined) return 10;
  const milliseconds = millisecondsOf(given, "the setting notifyCoalesce");
  if (milliseconds >= 0 && milliseconds <= 60_000) return milliseconds;
  throw new RangeError(`Cannot use the setting notifyCoalesce: expected from 0 to 60 seconds, got ${milliseconds} ms`);
}

// The first of the allowed values is the default.
function oneOf<T extends string>(name: string, value: T | undefined, allowed: readonly [T, ...T[]]): T {
  if (value === undefined) return allowed[0];
  if (allowed.includes(value)) return value;
  throw new TypeError(`Cannot use the setting ${name}: expected "${allowed.join('" or "')}", got ${show(value)}`);
}

function flag(name: string, value: unknown): boolean {
  if (typeof value === "boolean") return value;
  throw new TypeError(`Cannot use the setting ${name}: expected true or false, got ${show(value)}`);
}
