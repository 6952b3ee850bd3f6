import type { Core } from "../core.ts";
import type { Attempt } from "./attempt.ts";
import { caseOf } from "./case.ts";
import { wasRecorded } from "./counts.ts";
import type { Pauses } from "./pauses.ts";
import { pauseMs, type VerdictCase } from "./verdict.ts";

/** What stands between a claimed row and its receiver when a deferral has set the receiver's lane aside. */
export class LaneGate {
  readonly #core: Core;
  readonly #pauses: Pauses | undefined;
  readonly #onOpen: () => void;
  /** Deferred, and not answered yet: until it is known whether their lanes pause, nothing of those starts. */
  readonly #deferring = new Set<Attempt>();

  /** Without pauses nothing is ever set aside. `onOpen` is called when there may be something to claim again. */
  constructor(core: Core, pauses: Pauses | undefined, onOpen: () => void) {
    this.#core = core;
    this.#pauses = pauses;
    this.#onOpen = onOpen;
  }

  /** Whether it is not known yet if the attempt's lane pauses. */
  isUndecided(attempt: Attempt): boolean {
    if (this.#deferring.size === 0) return false;
    const lane = laneOf(attempt);
    return lane !== undefined && [...this.#deferring].some((other) => laneOf(other) === lane);
  }

  /** Whether the attempt's lane is set aside. */
  isPaused(attempt: Attempt): boolean {
    const lane = laneOf(attempt);
    return lane !== undefined && this.#pauses?.closed(lane) === true;
  }

  /** The attempt starts; it may be the one that finds out whether its lane is open again. */
  enter(attempt: Attempt): void {
    const lane = laneOf(attempt);
    if (lane !== undefined) attempt.probe = this.#pauses?.start(lane);
  }

  /** Its receiver is done. */
  leave(attempt: Attempt): void {
    const { outcome } = attempt;
    // Asked of every attempt: a case is built only for one that failed.
    if (!this.#pauses || outcome?.kind !== "failed") return;
    if (pauseMs(outcome, caseOf(this.#core, attempt)) !== undefined) this.#deferring.add(attempt);
  }

  /**
   * The database has answered. A row pauses its lane, or opens it again, only with what was recorded; and it opens it
   * only if it has asked the destination, which one that did not reach its receiver has not.
   */
  judge(attempt: Attempt, about: VerdictCase): boolean {
    const lane = laneOf(attempt);
    if (!this.#pauses || lane === undefined) return false;
    const isTold = wasRecorded(attempt) && attempt.context !== undefined;
    const ms = isTold ? pauseMs(attempt.outcome!, about) : undefined;
    if (ms !== undefined) this.#pauses.hold(lane, ms);
    return this.forget(attempt, isTold && ms === undefined);
  }

  /** The attempt is over, whatever came of it. Returns whether somebody may have waited for it. */
  forget(attempt: Attempt, isOpen = false): boolean {
    const { probe } = attempt;
    attempt.probe = undefined;
    if (probe) {
      this.#pauses!.over(probe, isOpen);
      this.#onOpen();
    }
    return this.#deferring.delete(attempt);
  }
}

/** The lane in which its receiver is called; undefined for a row that has none here, which costs no call. */
function laneOf({ receiver }: Attempt): string | undefined {
  return receiver?.policy.mode === "durable" ? receiver.policy.lane : undefined;
}
