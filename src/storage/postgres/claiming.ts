import { isDeliveryId } from "../delivery_id.ts";
import type { ClaimedDelivery } from "../records.ts";
import type { ClaimedReceiver, ClaimOnlyRequest, ClaimRequest, TakeRequest } from "../storage.ts";
import type { Parameter, Row, Statement } from "./clients/client.ts";
import { claimedOf, inOrder, stamp, stampOrNull } from "./rows.ts";
import { fenceParameters } from "./settling.ts";
import type { Statements } from "./statements.ts";

/** Up to so many receivers, each offers more rows than are wanted, for a relay whose claim runs at the same moment. */
const FEW_ARMS = 16;
const SPARE = 4;

/**
 * Each offers as many at least. Rows that receivers' transactions have locked stay at the head of the queue once their
 * lease has lapsed (renewals pass them by), and are offered and passed over; a claim of few rows must see beyond them.
 * There are no more of them than sessions, of which a server has 100 unless it is told otherwise. It costs nothing where
 * the arms are merged as far as is needed, and no more than a relay's usual batch where they are sorted.
 */
const DEEP = 128;

/** Beyond so many, a statement with an arm for each would take longer to plan than to run. */
const MOST_ARMS = 64;

/** A statement with what it is to be run with. */
export interface Bound {
  readonly statement: Statement;
  readonly parameters: readonly Parameter[];
}

/** The claim of what is due; null when nothing can be. */
export function claimOf(request: ClaimRequest, statements: Statements): Bound | null {
  const { receivers, worker, limit } = request;
  if (receivers.length === 0 || limit < 1) return null;
  const parameters = [
    positionsOf(receivers),
    worker,
    limit,
    stampOrNull(request.now),
    leasesOf(receivers),
    request.dueForMs ?? 0,
  ];
  return { statement: statementOf(request, statements), parameters };
}

function statementOf({ receivers: { length }, limit, ignoreBackoff }: ClaimRequest, statements: Statements): Statement {
  const wanted = powerOfTwo(limit);
  // Locks as it scans, so that no locked row takes up room in what it offers.
  if (length === 1 && !ignoreBackoff) return statements.claimOfOne(wanted);
  const spared = Math.max(wanted * SPARE, DEEP);
  if (ignoreBackoff) return statements.claimIgnoringBackoff(length, spared);
  const depth = Math.max(wanted, DEEP);
  if (length > MOST_ARMS) return statements.claimOfMany(depth);
  return statements.claim(length, length > FEW_ARMS ? depth : spared);
}

/** The claim of named rows; null when nothing can be. */
export function claimOnlyOf(request: ClaimOnlyRequest, statements: Statements): Bound | null {
  const { receivers, worker, only } = request;
  const ids = "eventIds" in only ? only.eventIds : only.deliveryIds.filter(isDeliveryId);
  if (receivers.length === 0 || ids.length === 0) return null;
  return {
    statement: "eventIds" in only ? statements.claimEvents : statements.claimDeliveries,
    parameters: [
      positionsOf(receivers),
      worker,
      JSON.stringify(ids),
      stampOrNull(request.now),
      leasesOf(receivers),
    ],
  };
}

/** The take-over of a claim; null when the fence can be nobody's. */
export function takeOf({ fence, worker, leaseMs, now }: TakeRequest, { take }: Statements): Bound | null {
  if (!isDeliveryId(fence.id)) return null;
  return { statement: take, parameters: [...fenceParameters(fence), worker, leaseMs, stampOrNull(now)] };
}

/** The rows of a claim, in order. */
export function claimedFrom(rows: readonly Row[], worker: string): ClaimedDelivery[] {
  return rows.map((row) => claimedOf(row, worker)).sort(inOrder);
}

/** The next power of two, so that few texts serve all limits. */
function powerOfTwo(limit: number): number {
  return 2 ** Math.ceil(Math.log2(limit));
}

function positionsOf(receivers: readonly ClaimedReceiver[]): string {
  return JSON.stringify(
    receivers.map(({ key, from }) =>
      from === undefined ? { k: key } : { k: key, at: stamp(from.availableAt), id: from.id }
    ),
  );
}

function leasesOf(receivers: readonly ClaimedReceiver[]): string {
  return JSON.stringify(Object.fromEntries(receivers.map(({ key, leaseMs }) => [key, leaseMs])));
}
