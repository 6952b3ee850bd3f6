import { dateOf, type Instant, type InstantLike, instantOf } from "../instant.ts";
import { coreOf, type Outbox } from "../core.ts";
import type { HealthRecord, ReceiverHealthRecord } from "../storage/records.ts";

/** One receiver's part of the health. */
export interface ReceiverHealth {
  /** The receiver's key. */
  readonly key: string;
  /** Due or running. */
  readonly owed: number;
  /** Owed, but scheduled for later. */
  readonly scheduled: number;
  /** Owed and running under a live lease. */
  readonly claimed: number;
  /** Owed under a lease that has lapsed: a worker died, or a receiver outlives its lease. */
  readonly lapsed: number;
  /** Out of attempts. */
  readonly dead: number;
  /** Addressed to a receiver that nobody lists. */
  readonly orphaned: number;
  /** When the oldest owed delivery became owed, or null. */
  readonly oldestOwedSince: Date | null;
}

/** What is owed and what has ended badly. */
export interface OutboxHealth extends Omit<ReceiverHealth, "key"> {
  /** Receivers with anything owed, dead or orphaned, most owed first. */
  readonly receivers: readonly ReceiverHealth[];
}

/** Options of {@linkcode outboxHealth}. */
export interface OutboxHealthOptions {
  /** The moment to compare with. Default: the database's clock. */
  readonly now?: InstantLike;
  /** Does not look once it has aborted; rejects with its reason. */
  readonly signal?: AbortSignal;
}

/**
 * How the outbox is doing. Alert on the age of `oldestOwedSince` and on `dead`: a receiver whose deliveries all die
 * has nothing owed any more.
 *
 * @throws the database's error when it does not answer
 *
 * @example An alert
 * ```ts
 * import { type Outbox, outboxHealth } from "@owed/outbox";
 *
 * async function isBehind(outbox: Outbox): Promise<boolean> {
 *   const { dead, oldestOwedSince } = await outboxHealth(outbox);
 *   return dead > 0 || (oldestOwedSince !== null && Date.now() - oldestOwedSince.getTime() > 60_000);
 * }
 * console.log(typeof isBehind);
 * ```
 */
export async function outboxHealth(
  outbox: Outbox,
  options: OutboxHealthOptions = {},
): Promise<OutboxHealth> {
  options.signal?.throwIfAborted();
  const core = coreOf(outbox, "look at the outbox's health");
  const now = options.now === undefined ? core.clock.now() : instantOf(options.now, "the option now");
  const health: HealthRecord = await core.storage.health(now);
  return {
    ...health,
    oldestOwedSince: date(health.oldestOwedSince),
    receivers: health.receivers.map((one: ReceiverHealthRecord) => ({
      ...one,
      oldestOwedSince: date(one.oldestOwedSince),
    })),
  };
}

function date(instant: Instant | null): Date | null {
  return instant === null ? null : dateOf(instant);
}
