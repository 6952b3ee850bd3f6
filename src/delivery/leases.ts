import type { Core } from "../core.ts";
import { LeaseLost } from "../errors.ts";
import { errorType, logger } from "../log.ts";
import { latestClaims } from "../storage/settlement.ts";
import type { Attempt } from "./attempt.ts";

const log = logger(["delivery"]);

/**
 * The claims in this process's hands, renewed every third of their lease until their receiver is done. Renewal runs
 * outside the receivers' transactions, so that a long receiver keeps its row and a dead process loses it soon.
 */
export class Leases {
  readonly #core: Core;
  readonly #renewedAt = new Map<Attempt, number>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #armedFor = Infinity;
  #renewing: Promise<void> | undefined;
  #failing = false;

  constructor(core: Core) {
    this.#core = core;
  }

  /** Takes on claims that were made at this monotonic moment, or later. */
  add(attempts: readonly Attempt[], claimedAt: number): void {
    for (const attempt of attempts) {
      this.#renewedAt.set(attempt, claimedAt);
      const due = claimedAt + attempt.leaseMs / 3;
      if (due < this.#armedFor) this.#arm(due);
    }
  }

  /** Lets go of a claim whose receiver is done: from here on its lease may lapse if its outcome cannot be recorded. */
  delete(attempt: Attempt): void {
    this.#renewedAt.delete(attempt);
  }

  /** Ids of the claims in hand. */
  get held(): string[] {
    return [...this.#renewedAt.keys()].map((attempt) => attempt.delivery.fence.id);
  }

  /**
   * Makes sure that a claim has not lapsed by this process's clock before its receiver starts: a blocked event loop or
   * a lost database may have kept the renewals from happening.
   */
  async ensureLive(attempt: Attempt): Promise<void> {
    const renewedAt = this.#renewedAt.get(attempt);
    if (renewedAt === undefined || performance.now() - renewedAt < attempt.leaseMs * 0.8) return;
    await this.#renew();
  }

  /** Whether `ensureLive` would have to ask the database. */
  isLive(attempt: Attempt, now: number): boolean {
    const renewedAt = this.#renewedAt.get(attempt);
    return renewedAt === undefined || now - renewedAt < attempt.leaseMs * 0.8;
  }

  /** Stops renewing. */
  close(): void {
    clearTimeout(this.#timer);
    this.#armedFor = Infinity;
    this.#renewedAt.clear();
  }

  #arm(due: number): void {
    clearTimeout(this.#timer);
    this.#armedFor = due;
    this.#timer = setTimeout(() => void this.#onTimer(due), Math.max(0, due - performance.now()));
  }

  async #onTimer(due: number): Promise<void> {
    this.#armedFor = Infinity;
    const late = performance.now() - due;
    for (const attempt of this.#renewedAt.keys()) {
      if (late < attempt.leaseMs / 2) continue;
      log.warn("the event loop was blocked for {late} ms, half of a lease: claims lapse when receivers do not yield", {
        late: Math.round(late),
      });
      break;
    }
    await this.#renew();
    let next = Infinity;
    for (const [attempt, at] of this.#renewedAt) next = Math.min(next, at + attempt.leaseMs / 3);
    if (next < this.#armedFor) this.#arm(Math.max(next, performance.now() + 100));
  }

  #renew(): Promise<void> {
    this.#renewing ??= this.#renewAll().finally(() => this.#renewing = undefined);
    return this.#renewing;
  }

  async #renewAll(): Promise<void> {
    this.#endSuperseded();
    const attempts = [...this.#renewedAt.keys()];
    if (attempts.length === 0) return;
    const startedAt = performance.now();
    let renewed: Set<string>;
    try {
      renewed = await this.#core.storage.renew(
        attempts.map(({ delivery, leaseMs }) => ({ fence: delivery.fence, leaseMs })),
        this.#core.clock.now(),
      );
    } catch (error) {
      // Once per outage: the claims' own log line says when it is over.
      if (!this.#failing) {
        log.warn("could not renew {count} leases ({error}); they are renewed as soon as the database answers", {
          count: attempts.length,
          error: errorType(error),
        });
      }
      this.#failing = true;
      return;
    }
    this.#failing = false;
    for (const attempt of attempts) {
      // Done meanwhile: its row may be settled already, which is no loss.
      if (!this.#renewedAt.has(attempt)) continue;
      if (renewed.has(attempt.delivery.fence.id)) this.#renewedAt.set(attempt, startedAt);
      // Locked by its own transaction: that lock is the lease.
      else if (attempt.context?.holding) this.#renewedAt.set(attempt, startedAt);
      else this.#lost(attempt);
    }
  }

  /** A row taken again by this process: the renewal answers by row, and would keep the earlier attempt alive with it. */
  #endSuperseded(): void {
    const inHand = [...this.#renewedAt.keys()].map((attempt) => ({ attempt, fence: attempt.delivery.fence }));
    const latest = latestClaims(inHand);
    if (latest === inHand) return;
    const kept = new Set(latest.map(({ attempt }) => attempt));
    for (const { attempt } of inHand) if (!kept.has(attempt)) this.#lost(attempt);
  }

  #lost(attempt: Attempt): void {
    this.#renewedAt.delete(attempt);
    const { receiverKey, fence } = attempt.delivery;
    attempt.interrupt({ kind: "lost", reason: new LeaseLost(receiverKey, fence.id) });
  }
}
