import type { Instant } from "../../instant.ts";
import { type Answer, columnsOf, type Fence, type FencedSettlement, oncePerRow } from "../settlement.ts";
import type { Renewal } from "../storage.ts";
import type { Parameter, Row, Statement } from "./clients/client.ts";
import { isRefusal, isUnstorable } from "./faults.ts";
import { stamp, stampOrNull } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { sleep } from "./timers.ts";

/** A claim that runs at the same moment may hold rows for as long as it takes to look at them: waits until sent again. */
const RESEND_MS: readonly number[] = [1, 5, 20];

/** Runs a statement wherever the caller's are run. */
export type Run = (statement: Statement, parameters: readonly Parameter[]) => Promise<readonly Row[]>;

/** Records settlements in one statement; one that the server refuses does not take the others with it. */
export async function settle(
  run: Run,
  statements: Statements,
  settlements: readonly FencedSettlement[],
  now: Instant | undefined,
): Promise<Answer[]> {
  const answers = await settleOnce(run, statements, settlements, now);
  for (const pause of RESEND_MS) {
    const busy = [...answers.keys()].filter((index) => answers[index] === "busy");
    if (busy.length === 0) break;
    await sleep(pause);
    const again = await settleOnce(run, statements, busy.map((index) => settlements[index]!), now);
    busy.forEach((index, position) => answers[index] = again[position]!);
  }
  return answers;
}

/** All together; if the server refuses that, one by one, so that one bad description does not fail the others. */
async function settleOnce(
  run: Run,
  statements: Statements,
  settlements: readonly FencedSettlement[],
  now: Instant | undefined,
): Promise<Answer[]> {
  const together = (batch: readonly FencedSettlement[]): Promise<Answer[]> =>
    batch.every(({ settlement }) => settlement.kind === "succeeded")
      ? succeedTogether(run, statements, batch, now)
      : settleTogether(run, statements.settle, statements.classify, batch, now);
  try {
    return await together(settlements);
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  const answers: Answer[] = [];
  const refusals: unknown[] = [];
  for (const settlement of settlements) {
    try {
      answers.push(...await recorded(together, settlement));
    } catch (error) {
      if (!isRefusal(error)) throw error;
      refusals.push(error);
    }
  }
  // Only now: whoever sends all of them again finds the others recorded already.
  if (refusals.length > 0) throw refusals[0];
  return answers;
}

/** A database of another encoding cannot keep every character; any other refusal is none of the description's. */
async function recorded(
  together: (batch: readonly FencedSettlement[]) => Promise<Answer[]>,
  settlement: FencedSettlement,
): Promise<Answer[]> {
  try {
    return await together([settlement]);
  } catch (error) {
    if (!isUnstorable(error)) throw error;
    return await together([inAscii(settlement)]);
  }
}

function inAscii({ fence, settlement }: FencedSettlement): FencedSettlement {
  if (!("error" in settlement)) return { fence, settlement };
  return { fence, settlement: { ...settlement, error: settlement.error.replaceAll(/[^\x20-\x7e\n\t]/gu, "?") } };
}

/** Records settlements with the statement given, and tells what became of each. */
export async function settleTogether(
  run: Run,
  statement: Statement,
  classify: Statement,
  settlements: readonly FencedSettlement[],
  now: Instant | undefined,
): Promise<Answer[]> {
  return await inRounds(settlements, async (round) => {
    const missed = await run(statement, [JSON.stringify(round.map(rowOf)), stampOrNull(now)]);
    return await answersOf(run, classify, round, missed);
  });
}

/** Records successes. */
async function succeedTogether(
  run: Run,
  { succeed, classify }: Statements,
  settlements: readonly FencedSettlement[],
  now: Instant | undefined,
): Promise<Answer[]> {
  return await inRounds(settlements, async (round) => {
    const missed = await run(succeed, [byClaim(round), stampOrNull(now)]);
    return await answersOf(run, classify, round, missed);
  });
}

async function inRounds(
  settlements: readonly FencedSettlement[],
  record: (round: readonly FencedSettlement[]) => Promise<Answer[]>,
): Promise<Answer[]> {
  const rounds = oncePerRow(settlements);
  if (rounds.length === 1) return await record(settlements);
  const answers = new Map<FencedSettlement, Answer>();
  for (const round of rounds) {
    for (const [index, answer] of (await record(round)).entries()) answers.set(round[index]!, answer);
  }
  return settlements.map((settlement) => answers.get(settlement)!);
}

// Mostly one claim, or two that overlap.
function byClaim(settlements: readonly FencedSettlement[]): string {
  const claims: { w: string; c: string; i: string[] }[] = [];
  let last: { readonly fence: Fence; readonly ids: string[] } | undefined;
  for (const { fence } of settlements) {
    if (last?.fence.claimedAt !== fence.claimedAt || last.fence.claimedBy !== fence.claimedBy) {
      last = { fence, ids: [] };
      claims.push({ w: fence.claimedBy, c: stamp(fence.claimedAt), i: last.ids });
    }
    last.ids.push(fence.id);
  }
  return JSON.stringify(claims);
}

/** What became of each, where the statement named those that it did not record. */
async function answersOf(
  run: Run,
  classify: Statement,
  settlements: readonly FencedSettlement[],
  missed: readonly Row[],
): Promise<Answer[]> {
  if (missed.length === 0) return settlements.map(() => "applied");
  const ids = new Set(missed.map(([id]) => String(id)));
  const left = settlements.filter(({ fence }) => ids.has(fence.id));
  const classified = await run(classify, [JSON.stringify(left.map(rowOf))]);
  const answers = new Map(classified.map(([id, answer]) => [String(id), answer as Answer]));
  return settlements.map(({ fence }) => answers.get(fence.id) ?? "applied");
}

/** Renewals as `renew` reads them. */
export function renewalsOf(renewals: readonly Renewal[]): string {
  return JSON.stringify(
    renewals.map(({ fence, leaseMs, parked }) => ({ ...fenceOf(fence), ms: leaseMs, p: parked ?? false })),
  );
}

/** A fence as three parameters. */
export function fenceParameters(fence: Fence): Parameter[] {
  return [fence.id, fence.claimedBy, stamp(fence.claimedAt)];
}

function fenceOf({ id, claimedBy, claimedAt }: Fence): { i: string; w: string; c: string } {
  return { i: id, w: claimedBy, c: stamp(claimedAt) };
}

/** What is null is left out: nearly all succeed, and have nothing more to say. */
function rowOf({ fence, settlement }: FencedSettlement): Record<string, Parameter | boolean | undefined> {
  const { status, attempts, delayMs, dueAt, error, completes } = columnsOf(settlement);
  return {
    ...fenceOf(fence),
    st: status ?? undefined,
    n: attempts,
    ms: delayMs ?? undefined,
    du: stampOrNull(dueAt) ?? undefined,
    err: storable(error) ?? undefined,
    f: completes,
  };
}

/** What the server would refuse is taken out here too, so that no outcome is lost to its own description. */
function storable(error: string | null): string | null {
  return error === null ? null : error.replaceAll("\0", "").toWellFormed();
}
