import { dateOf, type Instant } from "../instant.ts";
import type { Settlement } from "../storage/settlement.ts";
import { backoffMs, type Curve } from "./backoff.ts";
import { errorText, storable } from "./error_text.ts";
import { FOREIGN_WAIT_MS } from "./foreign.ts";
import type { Outcome } from "./outcome.ts";
import { isThrown, NotYet, PermanentFailure, RetryAfter } from "./thrown.ts";

/** What the verdict needs to know of a row and its receiver. */
export interface VerdictCase {
  readonly receiverKey: string;
  readonly eventName: string;
  readonly version: number;
  /** Number of the attempt that ran, from 1. */
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly lapses: number;
  readonly curve: Curve;
  /** When the row became owed. */
  readonly owedSince: Instant;
  /** How long the row has been owed, by the claim's clock, to the microsecond. */
  readonly owedForMs: number;
  /** How long a row may wait for a process that knows it. */
  readonly graceMs: number;
  /** How long a deferral may go on; undefined when the receiver declares no bound. */
  readonly giveUpAfterMs: number | undefined;
  /** The longest wait that a receiver may ask for. */
  readonly maxRetryAfterMs: number;
}

const CONFLICT_WAIT_MS = { from: 50, to: 500 };
const CONFLICTS_IN_A_ROW = 3;

/**
 * What becomes of the row: the one place that decides it. Pure: the same outcome, case and random number give the same
 * settlement. Null records nothing.
 *
 * @param random a number from 0 up to but not including 1
 */
export function verdict(outcome: Outcome, about: VerdictCase, random: number): Settlement | null {
  switch (outcome.kind) {
    case "succeeded":
      return { kind: "succeeded" };
    case "failed":
      return failed(outcome.error, about, random);
    case "undecodable":
      // Attempt two would fail as attempt one did.
      return { kind: "dead", error: errorText(outcome.error, about.receiverKey), counted: true };
    case "unknownReceiver":
      return {
        kind: "orphaned",
        error: `No process has listed receiver "${about.receiverKey}" lately; list it again and call replayEvents`,
      };
    case "undeclaredEvent":
      return foreign(
        outcome.metForMs,
        about,
        `in which receiver "${about.receiverKey}" listens to event "${about.eventName}"`,
      );
    case "newerVersion":
      return foreign(outcome.metForMs, about, `that declares event "${about.eventName}" version ${about.version}`);
    case "lapsedTooOften":
      return {
        kind: "dead",
        counted: false,
        error: `Claimed ${about.lapses} times without an outcome: whoever runs receiver "${about.receiverKey}" ` +
          `dies or outlives its lease each time`,
      };
    case "notOpened":
      return { kind: "postponed", delayMs: backoffMs(about.curve, about.attempt, random) };
    case "released":
      return { kind: "released" };
    case "notHandedOver":
      return { kind: "postponed", delayMs: about.curve.baseMs };
    case "handedOver":
    case "lost":
    case "unrecorded":
      return null;
  }
}

// The class is the signal, never the message: a plain error that says "410 Gone" is an ordinary failure.
function failed(error: unknown, about: VerdictCase, random: number): Settlement {
  if (isThrown(error, NotYet)) return { kind: "notYetUntil", until: error.until };
  const text = errorText(error, about.receiverKey);
  if (isThrown(error, PermanentFailure)) return { kind: "dead", error: text, counted: true };
  const asked = isThrown(error, RetryAfter) ? error : undefined;
  if (asked && isDeferral(asked, about)) return deferred(asked, text, about, random);
  if (about.attempt >= about.maxAttempts) return { kind: "dead", error: text, counted: true };
  return { kind: "retryAt", delayMs: asked ? askedMs(asked, about) : waitMs(error, about, random), error: text };
}

/**
 * How long the receiver's lane is to be left alone, in milliseconds: for as long as a deferral asked, without the
 * jitter, even when it was the row's last. Undefined after any other outcome.
 */
export function pauseMs(outcome: Outcome, about: VerdictCase): number | undefined {
  if (outcome.kind !== "failed" || !isThrown(outcome.error, RetryAfter)) return undefined;
  return isDeferral(outcome.error, about) ? askedMs(outcome.error, about) : undefined;
}

// It says that it spends no attempt, and something ends it that is not the budget.
function isDeferral(error: RetryAfter, about: VerdictCase): boolean {
  return !error.counts && about.giveUpAfterMs !== undefined;
}

function askedMs(error: RetryAfter, about: VerdictCase): number {
  return Math.min(error.waitMs, about.maxRetryAfterMs);
}

// At exactly the bound it is reached. The jitter goes upwards: never earlier than asked, and spread, so that what was
// deferred together does not come back together.
function deferred(error: RetryAfter, text: string, about: VerdictCase, random: number): Settlement {
  const boundMs = about.giveUpAfterMs!;
  if (about.owedForMs >= boundMs) {
    return {
      kind: "dead",
      counted: false,
      error: storable(
        `Given up: deferred, and owed for ${about.owedForMs / 1000} seconds, since ${
          dateOf(about.owedSince).toISOString()
        }, ` +
          `which reaches giveUpAfter (${boundMs / 1000} seconds). ${text}`,
      ),
    };
  }
  const delayMs = Math.min(askedMs(error, about) * (1 + random), about.maxRetryAfterMs);
  return { kind: "deferredUntil", delayMs, error: text };
}

function waitMs(error: unknown, about: VerdictCase, random: number): number {
  if (isConflict(error) && about.attempt <= CONFLICTS_IN_A_ROW) {
    return CONFLICT_WAIT_MS.from + random * (CONFLICT_WAIT_MS.to - CONFLICT_WAIT_MS.from);
  }
  return backoffMs(about.curve, about.attempt, random);
}

// The SQL standard's serialization failure and the deadlock next to it: the loser is meant to come again soon.
function isConflict(error: unknown): boolean {
  try {
    const { code, cause } = error as { code?: unknown; cause?: { code?: unknown } | null };
    // An ORM may wrap the driver's error.
    return [code, cause?.code].some((one) => one === "40001" || one === "40P01");
  } catch {
    // Nothing that has a code, or a hostile getter: the attempt is recorded all the same.
    return false;
  }
}

function foreign(metForMs: number, { graceMs }: VerdictCase, process: string): Settlement {
  if (metForMs < graceMs) {
    return { kind: "postponed", delayMs: Math.min(FOREIGN_WAIT_MS, graceMs - metForMs) };
  }
  return {
    kind: "dead",
    counted: false,
    error: `No process ${process} has taken the row lately; deploy the release that does and call replayEvents`,
  };
}
