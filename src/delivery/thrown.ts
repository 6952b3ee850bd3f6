import { type Duration, millisecondsOf } from "../duration.ts";
import { type Instant, type InstantLike, instantOf } from "../instant.ts";

/** Options of {@linkcode RetryAfter}. */
export interface RetryAfterOptions {
  /** Stored as `last_error`. Default: the wait that was asked for. */
  readonly reason?: string;
  /**
   * Whether it spends an attempt. `false` asks for a deferral: no attempt is spent, the lane pauses, and the receiver's
   * `giveUpAfter` bounds it. Default true.
   */
  readonly counts?: boolean;
}

/**
 * Thrown by a durable receiver whose destination will never accept this: the delivery is dead on this attempt. The
 * class is the signal, never the message.
 *
 * @example A partner that retired its endpoint
 * ```ts
 * import { event, PermanentFailure, receiver } from "@owed/outbox";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const notify = receiver(OrderPlaced, "partner.notify", async (order) => {
 *   const response = await fetch(`https://partner.example/orders/${order.orderId}`, { method: "POST" });
 *   if (response.status === 410) throw new PermanentFailure("410 Gone: the partner retired this endpoint");
 *   if (!response.ok) throw new Error(`The partner answered ${response.status}`);
 * });
 * console.log(notify.key);
 * ```
 */
export class PermanentFailure extends Error {
  /** Tells it in `last_error`. */
  override readonly name: string = "PermanentFailure";
}

/**
 * Thrown by a durable receiver whose destination said when to come back: the next attempt waits that long instead of
 * drawing from the curve. It spends an attempt unless `counts` is false.
 *
 * @example A rate limit that spends no attempt
 * ```ts
 * import { event, receiver, RetryAfter } from "@owed/outbox";
 *
 * const ReceiptQueued = event<{ to: string }>("receipts.queued");
 * const send = receiver(ReceiptQueued, "receipts.send", async () => {
 *   const response = await fetch("https://mail.example/send", { method: "POST" });
 *   if (response.status === 429) {
 *     throw new RetryAfter({ seconds: Number(response.headers.get("retry-after")) }, {
 *       reason: "sending rate exceeded",
 *       counts: false,
 *     });
 *   }
 * }, { lane: "mail", giveUpAfter: { days: 2 } });
 * console.log(send.key);
 * ```
 */
export class RetryAfter extends Error {
  /** Tells it in `last_error`. */
  override readonly name: string = "RetryAfter";
  /** How long to wait, in milliseconds, as asked. */
  readonly waitMs: number;
  /** Whether it spends an attempt. */
  readonly counts: boolean;

  /**
   * Asks for the wait.
   *
   * @throws {TypeError} for a bare number or an unknown unit
   * @throws {RangeError} for a negative wait, or one of zero that does not count and so would never end
   */
  constructor(wait: Duration, options: RetryAfterOptions = {}) {
    const waitMs = millisecondsOf(wait, "the wait of RetryAfter");
    const { counts = true, reason = `asked to be retried after ${waitMs / 1000} seconds` } = options;
    super(reason);
    if (waitMs < 0) throw new RangeError(`Cannot retry after a negative wait, got ${waitMs} ms`);
    if (!counts && waitMs === 0) {
      throw new RangeError("Cannot defer by nothing: a wait of zero that spends no attempt would never end");
    }
    this.waitMs = waitMs;
    this.counts = counts;
  }
}

/** Options of {@linkcode NotYet}. */
export interface NotYetOptions {
  /** The error's message, for an `aroundDelivery`; it is not stored. */
  readonly reason?: string;
}

/**
 * Thrown by a durable receiver whose work is not due until later, typically a scheduled one whose moment has moved.
 * The row is pending again until exactly then: nothing counts, nothing is logged as a failure, no lane pauses.
 *
 * @example An offer that was extended
 * ```ts
 * import { event, NotYet, receiver } from "@owed/outbox";
 *
 * const OfferMade = event<{ offerId: number }>("offers.made");
 * const expiries = new Map<number, Date>();
 * const expire = receiver(OfferMade, "offers.expire", (offer, ctx) => {
 *   const expiresAt = expiries.get(offer.offerId)!;
 *   // Against dueAt, so that a test which moves the clock works; against now, so that a late row proceeds.
 *   if (expiresAt.getTime() > Math.max(ctx.dueAt.getTime(), Date.now())) throw new NotYet(expiresAt);
 *   expiries.delete(offer.offerId);
 * }, { due: { hours: 48 } });
 * console.log(expire.key);
 * ```
 */
export class NotYet extends Error {
  /** The class, for code that cannot use `instanceof`. */
  override readonly name: string = "NotYet";
  /** When the work is due, in microseconds since the epoch. */
  readonly until: Instant;

  /**
   * Names the moment.
   *
   * @throws {TypeError} when it is no instant
   * @throws {RangeError} for an instant that is not in the future
   */
  constructor(until: InstantLike, options: NotYetOptions = {}) {
    const instant = instantOf(until, "the until of NotYet");
    super(options.reason ?? "the work is not due yet");
    if (instant <= BigInt(Date.now()) * 1000n) {
      throw new RangeError("Cannot wait until a moment that has passed: NotYet takes one in the future");
    }
    this.until = instant;
  }
}

/** Whether something was thrown as one of these. The class is the signal, never the message; what refuses to be read is none. */
export function isThrown<E extends Error>(error: unknown, as: abstract new (...args: never) => E): error is E {
  try {
    return error instanceof as;
  } catch {
    // A proxy whose prototype cannot be asked for: the attempt is an ordinary failure, and is recorded.
    return false;
  }
}
