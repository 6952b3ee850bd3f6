import type { Core } from "../core.ts";
import { WorkFailed } from "../errors.ts";
import type { Answer, Settlement } from "../storage/settlement.ts";
import type { Acknowledger } from "./acknowledger.ts";
import type { Attempt } from "./attempt.ts";
import { caseOf } from "./case.ts";
import type { Held } from "./context.ts";
import { inTime } from "./in_time.ts";
import { verdict } from "./verdict.ts";

// Longer than any commit that gets through; the server ends what hangs beyond it by its own limits.
const LONGEST_END_MS = 40_000;

/**
 * Decides what becomes of the row, and records it where a transaction of the receiver's is open: there the outcome
 * commits with the work, or under the same lock once the work is undone. Afterwards the attempt has a settlement, and
 * an answer too if the transaction carried it. A connection that has fallen silent must not keep the attempt's slot, or
 * a relay that is to stop: past the limit nothing is known of the outcome, and nothing recorded.
 */
export async function conclude(core: Core, attempt: Attempt): Promise<void> {
  if (await inTime(end(core, attempt), LONGEST_END_MS)) return;
  attempt.context!.abandon();
  attempt.outcome = { kind: "unrecorded", error: new Error(`No answer to the commit within ${LONGEST_END_MS} ms`) };
  attempt.settlement = null;
}

async function end(core: Core, attempt: Attempt): Promise<void> {
  if (attempt.interruption) {
    // The receiver may be in the middle of a statement: its connection is given up, and the outcome (if there is one
    // to record) goes the ordinary way.
    attempt.context!.abandon();
    // It spent its time waiting for our database, which is no failure of the receiver either.
    if (attempt.interruption.kind === "timeout" && attempt.context!.waiting) attempt.outcome = { kind: "notOpened" };
    return decide(core, attempt);
  }
  const held = await closeContext(attempt);
  // Our database's outage is no failure of the receiver: a budget that it spends would kill rows that are well.
  if (attempt.outcome?.kind === "failed" && attempt.context!.unreachable) attempt.outcome = { kind: "notOpened" };
  if (attempt.outcome?.kind === "succeeded" && attempt.context?.acknowledgedElsewhere) await confirm(core, attempt);
  decide(core, attempt);
  if (held) await settleHeld(core, attempt, held);
}

/** Gives the attempt its settlement from its outcome. */
export function decide(core: Core, attempt: Attempt): void {
  attempt.settlement = verdict(attempt.outcome!, caseOf(core, attempt), Math.random());
}

async function closeContext(attempt: Attempt): Promise<Held | undefined> {
  const context = attempt.context!;
  if (attempt.outcome?.kind !== "succeeded") return await context.giveUp();
  try {
    const held = await context.close();
    // A veto that the receiver caught, or a fire in its transaction that it did not await.
    await held?.scope.finish();
    return held;
  } catch (error) {
    attempt.outcome = attempt.interruption ? { kind: "lost" } : { kind: "failed", error };
    return await context.giveUp();
  }
}

async function settleHeld(core: Core, attempt: Attempt, held: Held): Promise<void> {
  try {
    attempt.answer = await finish(core, attempt, held);
  } catch (error) {
    // The connection went with the outcome unknown. If it committed, the row is settled; if not, its lease lapses.
    attempt.outcome = { kind: "unrecorded", error };
    attempt.settlement = null;
    await held.acknowledgement.abandon();
  } finally {
    attempt.context!.ambient.transaction.open = false;
  }
}

async function finish(core: Core, attempt: Attempt, held: Held): Promise<Answer> {
  const settlement: Settlement = attempt.settlement ?? { kind: "released" };
  if (settlement.kind !== "succeeded") await held.scope.fail();
  try {
    const answer = await held.acknowledgement.finish(settlement);
    attempt.firedInside = held.scope.afterCommit;
    return answer;
  } catch (error) {
    if (!(error instanceof WorkFailed)) throw error;
    attempt.outcome = { kind: "failed", error: error.cause ?? error };
    decide(core, attempt);
    return await held.acknowledgement.finish(attempt.settlement!);
  }
}

// The receiver acknowledged in a transaction of its own, whose commit we did not see.
async function confirm(core: Core, attempt: Attempt): Promise<void> {
  const [row] = await core.storage.findDeliveries({ deliveryId: attempt.delivery.fence.id });
  if (row === undefined || row.status === "succeeded") {
    attempt.answer = "applied";
    return;
  }
  attempt.outcome = {
    kind: "failed",
    error: new Error("The transaction in which the receiver acknowledged its delivery did not commit"),
  };
}

/** Records the settlements that no transaction carried, grouped with others. */
export async function settle(acknowledger: Acknowledger, attempt: Attempt): Promise<void> {
  if (attempt.answer !== undefined || !attempt.settlement) return;
  attempt.answer = await acknowledger.settle({ fence: attempt.delivery.fence, settlement: attempt.settlement });
}
