import type { Duration } from "../duration.ts";
import type { InstantLike } from "../instant.ts";
import type { DeliveryContext } from "./context.ts";

/**
 * When a receiver runs and what that guarantees.
 *
 * - `"durable"`: after commit, at least once, retried. The only mode with a row.
 * - `"inline"`: inside the firing transaction. Throwing vetoes the change.
 * - `"on-commit"`: after commit in the firing process, best effort.
 */
export type Mode = "inline" | "on-commit" | "durable";

/** How long failed attempts wait; the ceilings double from `base` up to `cap`, and each wait is drawn from below its ceiling. */
export interface Backoff {
  /** The first ceiling. Default: the outbox's setting. */
  readonly base?: Duration;
  /** The highest ceiling. Default: the outbox's setting. */
  readonly cap?: Duration;
}

/** Options of `receiver`. All but `mode` belong to durable receivers alone. */
// deno-lint-ignore no-explicit-any -- whatever the event's payload is
export interface ReceiverOptions<Payload = any> {
  /** Default `"durable"`. */
  readonly mode?: Mode;
  /** Attempts before the delivery is dead, 1 to 32767; frozen on the row at fire. Default: the outbox's setting. */
  readonly maxAttempts?: number;
  /** The retry curve; read when an attempt fails. */
  readonly backoff?: Backoff;
  /** How long a claim lasts without renewal. Default: the outbox's setting. */
  readonly lease?: Duration;
  /** How long an attempt may run; `null` lifts the limit. Default: the outbox's setting. */
  readonly timeout?: Duration | null;
  /** Also attempt it right after commit in the firing process, the relay being the fallback. Default false. */
  readonly eager?: boolean;
  /** The lane whose relays run it, for slow work that nothing else should wait behind. Default `"default"`. */
  readonly lane?: string;
  /**
   * When it is due: a time after the event is recorded, or a function of the event that gives such a time or a moment.
   * The delivery is written at fire and cannot be claimed before. Default: at once.
   */
  readonly due?: Duration | DueFunction<Payload>;
  /**
   * Fans out: one delivery per string that it returns, each with its own attempts and end. Called in the firing
   * transaction (`ctx.transaction()`), where throwing fails the fire. Duplicates are dropped; none means no delivery.
   */
  readonly targets?: TargetsFunction<Payload>;
  /**
   * Where it runs: `"relay"` (default), or `"task"`: the relay hands the delivery over to the outbox's task backend. It
   * says nothing of when, and changes nothing of what the event promised.
   */
  readonly site?: "relay" | "task";
  /**
   * How long a delivery may be owed before a deferral that spends no attempt (`RetryAfter` with `counts: false`) ends
   * it. Without it such a deferral spends an attempt.
   */
  readonly giveUpAfter?: Duration;
  /**
   * Told of each recorded failure, after it is recorded and outside of the receiver's transaction: what it writes
   * stays. Its own errors are logged.
   */
  readonly onFailure?: (failure: DeliveryFailure) => unknown;
}

/** Gives the moment at which a delivery is due, see {@linkcode ReceiverOptions.due}. */
export type DueFunction<Payload> = (
  payload: Payload,
  ctx: DeliveryContext,
) => Duration | InstantLike | Promise<Duration | InstantLike>;

/** Gives the targets of a fan-out, see {@linkcode ReceiverOptions.targets}. */
export type TargetsFunction<Payload> = (
  payload: Payload,
  ctx: DeliveryContext,
) => Iterable<string> | Promise<Iterable<string>>;

/** What `onFailure` is told: values and not the row, which another worker may own by then. */
export interface DeliveryFailure {
  /** The delivery's id. */
  readonly deliveryId: string;
  /** The event's id. */
  readonly eventId: string;
  /** The event's name. */
  readonly eventName: string;
  /** The receiver's key. */
  readonly receiverKey: string;
  /** The target of a fan-out; empty without one. */
  readonly target: string;
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** `failed` while it will be tried again, `dead` once it will not. */
  readonly status: "failed" | "dead";
  /** The error as it is stored: its class and message. */
  readonly error: string;
}
