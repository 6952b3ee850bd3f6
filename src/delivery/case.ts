import type { Core } from "../core.ts";
import type { Attempt } from "./attempt.ts";
import type { VerdictCase } from "./verdict.ts";

/** What the verdict needs to know, read when the attempt ends: a deploy that changes a curve applies to rows in flight. */
export function caseOf(core: Core, attempt: Attempt): VerdictCase {
  const { delivery, receiver } = attempt;
  const { settings } = core;
  const baseMs = receiver?.policy.backoffBaseMs ?? settings.backoffBaseMs;
  const owedSince = delivery.dueAt ?? delivery.owedSince;
  return {
    receiverKey: delivery.receiverKey,
    eventName: delivery.event.name,
    version: delivery.event.version,
    attempt: attempt.number,
    maxAttempts: delivery.maxAttempts,
    lapses: delivery.lapses,
    // A receiver's own base may lie above the setting's cap: then the base is the ceiling of every wait.
    curve: { baseMs, capMs: receiver?.policy.backoffCapMs ?? Math.max(settings.backoffCapMs, baseMs) },
    owedSince,
    owedForMs: Number(delivery.claimedNow - owedSince) / 1000,
    graceMs: attempt.graceMs,
    giveUpAfterMs: receiver?.policy.giveUpAfterMs,
    maxRetryAfterMs: settings.maxRetryAfterMs,
  };
}
