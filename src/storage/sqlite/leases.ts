import type { Renewal } from "../storage.ts";
import { claimKey, type Fence } from "../settlement.ts";

/** The process's own clock for durations; taken at load, so that a test's fake clock does not stop it. */
const monotonic = performance.now.bind(performance);

interface Held {
  readonly fence: Fence;
  readonly leaseMs: number;
  /** When it was last claimed, or its renewal last asked for. */
  askedAt: number;
  /** When the database last got a new end for it. */
  renewedAt: number;
  /** Renewals that wait for their turn. */
  waiting: number;
}

/**
 * The claims that run in this process, for one purpose: an open transaction is the whole file's write lock, so while
 * one is open nobody can renew, and its commit could be the moment in which another process takes rows whose leases
 * have lapsed meanwhile. Each commit of this process therefore renews what is past a third of its lease, in the same
 * transaction.
 */
export class Leases {
  /** By claim. */
  readonly #held = new Map<string, Held>();
  /** No lease is past its third before. */
  #nothingBefore = Infinity;

  /** A claim was made. */
  claimed(fence: Fence, leaseMs: number): void {
    const now = monotonic();
    this.#held.set(claimKey(fence), { fence, leaseMs, askedAt: now, renewedAt: now, waiting: 0 });
    this.#nothingBefore = Math.min(this.#nothingBefore, now + leaseMs / 3);
  }

  /** A renewal is asked for, and may have to wait. Returns what to call when it has been answered. */
  asked(renewals: readonly Renewal[]): (renewed: ReadonlySet<string>) => void {
    const waiting: Held[] = [];
    for (const { fence, leaseMs } of renewals) {
      if (this.#held.get(claimKey(fence))?.leaseMs !== leaseMs) this.claimed(fence, leaseMs);
      const held = this.#held.get(claimKey(fence))!;
      held.askedAt = monotonic();
      held.waiting += 1;
      waiting.push(held);
    }
    return (renewed) => {
      for (const held of waiting) {
        held.waiting -= 1;
        held.askedAt = monotonic();
        if (renewed.has(claimKey(held.fence))) held.renewedAt = monotonic();
        else this.ended(held.fence);
      }
    };
  }

  /** The claim was settled, given back or lost. */
  ended(fence: Fence): void {
    const key = claimKey(fence);
    if (this.#held.get(key)?.waiting === 0) this.#held.delete(key);
  }

  /**
   * What a commit should renew, whose transaction began at `since`. What nobody has asked for during a whole lease
   * before that is forgotten: its holder is gone, and somebody else is to have it.
   */
  due(since: number): Renewal[] {
    const now = monotonic();
    if (now < this.#nothingBefore) return [];
    this.#nothingBefore = Infinity;
    const due: Renewal[] = [];
    for (const [key, held] of this.#held) {
      if (held.waiting === 0 && held.askedAt + held.leaseMs < since) {
        this.#held.delete(key);
      } else if (now - held.renewedAt >= held.leaseMs / 3) {
        due.push(held);
      }
    }
    for (const held of this.#held.values()) {
      this.#nothingBefore = Math.min(this.#nothingBefore, held.renewedAt + held.leaseMs / 3);
    }
    return due;
  }

  /** The commit has renewed these; the others were not ours any more. */
  renewed(sent: readonly Renewal[], claims: ReadonlySet<string>): void {
    for (const { fence } of sent) {
      const key = claimKey(fence);
      const held = this.#held.get(key);
      if (!held) continue;
      if (claims.has(key)) held.renewedAt = monotonic();
      else this.ended(fence);
    }
    for (const held of this.#held.values()) {
      this.#nothingBefore = Math.min(this.#nothingBefore, held.renewedAt + held.leaseMs / 3);
    }
  }
}

/** The moment that `due` compares with. */
export function moment(): number {
  return monotonic();
}
