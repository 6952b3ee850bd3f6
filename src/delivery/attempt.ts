import type { Core } from "../core.ts";
import type { Receiver } from "../declaration/receiver.ts";
import type { AfterCommit } from "../firing/after_commit.ts";
import type { ClaimedDelivery } from "../storage/records.ts";
import type { Answer, Settlement } from "../storage/settlement.ts";
import type { DurableContext } from "./context.ts";
import type { Outcome } from "./outcome.ts";
import type { Probe } from "./pauses.ts";

/** Why a running attempt is ended from outside. */
export type Interruption = { readonly kind: "timeout" | "lost" | "released"; readonly reason: unknown };

/**
 * The record that travels along the line: claim, decode, run, verdict, settle, hooks. Each step sets one more field;
 * a step whose field is set already passes.
 */
export class Attempt {
  readonly delivery: ClaimedDelivery;
  /** Undefined when this process does not list it. */
  readonly receiver: Receiver | undefined;
  readonly leaseMs: number;
  readonly timeoutMs: number | null;
  /** How long its row may wait for a process that knows it. */
  readonly graceMs: number;
  payload: unknown;
  /** Its payload being decoded, or having been. */
  decoding: Promise<void> | "done" | undefined;
  context: DurableContext | undefined;
  outcome: Outcome | undefined;
  settlement: Settlement | null | undefined;
  answer: Answer | undefined;
  interruption: Interruption | undefined;
  /** What was fired in the receiver's transaction asks for, once that has committed. */
  firedInside: readonly AfterCommit[] = [];
  /** Set when it is the one delivery that its lane lets through after a pause. */
  probe: Probe | undefined;
  /** Set while the receiver runs: ends the wait for it. */
  onInterrupt: ((interruption: Interruption) => void) | undefined;

  constructor(core: Core, delivery: ClaimedDelivery, graceMs: number = core.settings.orphanAfterMs) {
    this.delivery = delivery;
    this.receiver = core.registry.receivers.get(delivery.receiverKey);
    this.graceMs = graceMs;
    const policy = this.receiver?.policy;
    this.leaseMs = policy?.leaseMs ?? core.settings.leaseMs;
    this.timeoutMs = policy?.timeoutMs === undefined ? core.settings.timeoutMs : policy.timeoutMs;
  }

  /** Number of this attempt, from 1. */
  get number(): number {
    return this.delivery.attempts + 1;
  }

  /** Ends the attempt from outside. Only the first interruption counts, and none once it has an outcome. */
  interrupt(interruption: Interruption): void {
    if (this.interruption || this.outcome) return;
    this.interruption = interruption;
    this.onInterrupt?.(interruption);
  }
}
