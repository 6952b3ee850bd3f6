import { type Duration, optional, untimed } from "../duration.ts";
import type {
  Backoff,
  DeliveryFailure,
  DueFunction,
  Mode,
  ReceiverOptions,
  TargetsFunction,
} from "./receiver_options.ts";
import { refuseUnknown, requireInteger, requireName, show } from "./refusals.ts";

/** A receiver's options, checked; absent ones are left to the outbox's settings. */
export interface ReceiverPolicy {
  /** When it runs. */
  readonly mode: Mode;
  /** Attempts before a delivery is dead. Undefined: the outbox's setting. */
  readonly maxAttempts: number | undefined;
  /** The first ceiling, in milliseconds. Undefined: the outbox's setting. */
  readonly backoffBaseMs: number | undefined;
  /** The highest ceiling, in milliseconds. Undefined: the outbox's setting. */
  readonly backoffCapMs: number | undefined;
  /** How long a claim lasts without renewal, in milliseconds. Undefined: the outbox's setting. */
  readonly leaseMs: number | undefined;
  /** How long an attempt may run, in milliseconds. Null: no limit. Undefined: the outbox's setting. */
  readonly timeoutMs: number | null | undefined;
  /** See {@linkcode ReceiverOptions.eager}. */
  readonly eager: boolean;
  /** See {@linkcode ReceiverOptions.lane}. */
  readonly lane: string;
  /** See {@linkcode ReceiverOptions.due}; milliseconds where it was a duration. */
  readonly due: number | DueFunction<never> | undefined;
  /** See {@linkcode ReceiverOptions.targets}. */
  readonly targets: TargetsFunction<never> | undefined;
  /** See {@linkcode ReceiverOptions.site}. */
  readonly site: "relay" | "task";
  /** See {@linkcode ReceiverOptions.giveUpAfter}, in milliseconds. */
  readonly giveUpAfterMs: number | undefined;
  /** See {@linkcode ReceiverOptions.onFailure}. */
  readonly onFailure: ((failure: DeliveryFailure) => unknown) | undefined;
}

const OPTIONS = [
  "mode",
  "maxAttempts",
  "backoff",
  "lease",
  "timeout",
  "eager",
  "lane",
  "due",
  "targets",
  "site",
  "giveUpAfter",
  "onFailure",
];
const MODES: readonly Mode[] = ["inline", "on-commit", "durable"];

/**
 * Checks a receiver's options.
 *
 * @throws {TypeError | RangeError} naming the receiver, the option and what is allowed
 */
export function policyOf(key: string, options: ReceiverOptions<never>): ReceiverPolicy {
  refuseUnknown(options, OPTIONS, `declare receiver "${key}"`);
  const { mode = "durable", maxAttempts, backoff, lease, timeout, eager = false, lane = "default" } = options;
  if (!MODES.includes(mode)) {
    throw new TypeError(`Cannot declare receiver "${key}": mode must be one of "${MODES.join('", "')}"`);
  }
  if (mode !== "durable") {
    for (const [option, value] of Object.entries(options)) {
      if (option === "mode" || value === undefined || (option === "eager" && value === false)) continue;
      throw new TypeError(
        `Cannot declare receiver "${key}": ${option} needs a row, and mode "${mode}" has none; allowed is only mode`,
      );
    }
  }
  if (typeof eager !== "boolean") {
    throw new TypeError(`Cannot declare receiver "${key}": eager must be true or false, got ${show(eager)}`);
  }
  if (maxAttempts !== undefined) requireInteger(maxAttempts, 1, 32767, `maxAttempts of receiver "${key}"`);
  requireName(lane, `declare receiver "${key}"`, "lane");
  const { site = "relay", giveUpAfter } = options;
  if (site !== "relay" && site !== "task") {
    throw new TypeError(`Cannot declare receiver "${key}": site must be "relay" or "task"`);
  }
  const { base, cap } = curveOf(key, backoff);
  return Object.freeze({
    mode,
    maxAttempts,
    backoffBaseMs: base,
    backoffCapMs: cap,
    leaseMs: optional(lease, `lease of receiver "${key}"`),
    timeoutMs: timeout === null ? null : optional(timeout, `timeout of receiver "${key}"`),
    eager,
    lane,
    due: dueOf(key, options.due),
    targets: callback(key, "targets", options.targets),
    site,
    giveUpAfterMs: giveUpAfter === undefined ? undefined : untimed(giveUpAfter, 1, `giveUpAfter of receiver "${key}"`),
    onFailure: callback(key, "onFailure", options.onFailure),
  });
}

function curveOf(key: string, backoff: Backoff | undefined): { base: number | undefined; cap: number | undefined } {
  if (backoff === undefined) return { base: undefined, cap: undefined };
  refuseUnknown(backoff, ["base", "cap"], `declare receiver "${key}" with its backoff`);
  const base = optional(backoff.base, `backoff.base of receiver "${key}"`);
  const cap = optional(backoff.cap, `backoff.cap of receiver "${key}"`);
  if (base !== undefined && cap !== undefined && cap < base) {
    throw new RangeError(
      `Cannot declare receiver "${key}": backoff.cap (${cap} ms) is below backoff.base (${base} ms), ` +
        `so every retry would wait for the cap and the base would never be read`,
    );
  }
  return { base, cap };
}

function dueOf(key: string, due: Duration | DueFunction<never> | undefined): number | DueFunction<never> | undefined {
  if (due === undefined || typeof due === "function") return due;
  return untimed(due, 1, `due of receiver "${key}"`);
}

function callback<F>(key: string, option: string, value: F | undefined): F | undefined {
  if (value === undefined || typeof value === "function") return value;
  throw new TypeError(`Cannot declare receiver "${key}": ${option} must be a function, got ${show(value)}`);
}
