import type { ClaimedDelivery } from "../records.ts";
import { isDeliveryId } from "../delivery_id.ts";
import type { ClaimedReceiver, ClaimOnlyRequest, ClaimRequest, TakeRequest } from "../storage.ts";
import type { Row, Statement } from "./clients/client.ts";
import type { Database } from "./database.ts";
import { candidateOf, claimedOf } from "./rows.ts";
import type { SqliteTransaction } from "./transaction.ts";
import { idsText, microseconds, receiversText } from "./values.ts";

/** Up to this many receivers are looked at one by one; of more, those are found first that have anything. */
const FEW = 8;

/** SQLite takes 500 arms in one statement. */
const MOST = 400;

/** Claims what is due. */
export async function claimDue<Tx>(
  database: Database<Tx>,
  { worker, receivers, limit, ignoreBackoff = false, dueForMs = 0, now: at }: ClaimRequest,
  within: SqliteTransaction<unknown> | undefined,
): Promise<ClaimedDelivery[]> {
  const { sql } = database;
  const now = at ?? null;
  if (receivers.length === 0 || limit <= 0) return [];
  const dueFor = microseconds(dueForMs);
  const heads = ignoreBackoff ? sql.headsIgnoringBackoff : sql.heads;
  const claim = ignoreBackoff ? sql.claimIgnoringBackoff : sql.claim;
  return await claimWith(database, within, {
    look: async (run, taken) => {
      const args = (of: readonly ClaimedReceiver[], most: number) => [receiversText(of), now, BigInt(most), dueFor];
      let some = receivers;
      if (receivers.length > FEW) {
        const rows = await run({ sql: heads, args: args(receivers, MOST) });
        some = rows.map((row) => receivers[Number(row.row)]!);
        if (some.length === 0) return [];
      }
      const rows = await run({ sql: claim(some.length), args: args(some, limit - taken) });
      return rows.map(candidateOf).map(({ receiver, ...seen }) => ({ ...seen, leaseMs: some[receiver]!.leaseMs }));
    },
    lease: (ids, leaseMs) =>
      ignoreBackoff
        ? { sql: sql.leaseIgnoringBackoff, args: [ids, now, worker, microseconds(leaseMs)] }
        : { sql: sql.leaseDue, args: [ids, now, worker, microseconds(leaseMs), dueFor] },
    worker,
    receivers,
    keeps: now === null,
  });
}

/** Claims named rows. */
export async function claimNamed<Tx>(
  database: Database<Tx>,
  { worker, receivers, only, now: at }: ClaimOnlyRequest,
  within: SqliteTransaction<unknown> | undefined,
): Promise<ClaimedDelivery[]> {
  const { sql } = database;
  const now = at ?? null;
  const byEvent = "eventIds" in only;
  const named = byEvent ? JSON.stringify(only.eventIds) : idsText(only.deliveryIds);
  if (receivers.length === 0 || named === "[]") return [];
  const look = byEvent ? sql.claimEvents : sql.claimDeliveries;
  return await claimWith(database, within, {
    look: async (run) => {
      const rows = await run({ sql: look, args: [receiversText(receivers), now, named] });
      return rows.map(candidateOf).map(({ receiver, ...seen }) => ({ ...seen, leaseMs: receivers[receiver]!.leaseMs }));
    },
    lease: (ids, leaseMs) =>
      byEvent
        ? { sql: sql.leaseDue, args: [ids, now, worker, microseconds(leaseMs), 0n] }
        : { sql: sql.leaseNamed, args: [ids, now, worker, microseconds(leaseMs)] },
    worker,
    receivers,
    keeps: now === null,
  });
}

/** Takes a claim over; null when it is nobody's, or somebody else's. */
export async function takeOver<Tx>(
  database: Database<Tx>,
  { fence, worker, leaseMs, now }: TakeRequest,
): Promise<ClaimedDelivery | null> {
  if (!isDeliveryId(fence.id)) return null;
  const { take, eventOfDelivery } = database.sql;
  const id = BigInt(fence.id);
  const args = [id, fence.claimedBy, fence.claimedAt, worker, microseconds(leaseMs), now ?? null];
  const [rows, events] = await database.write([{ sql: take, args }, { sql: eventOfDelivery, args: [id] }]);
  const [taken] = claimedOf(rows!, events!, worker);
  if (taken === undefined) return null;
  if (now === undefined) database.leases.claimed(taken.fence, leaseMs);
  return taken;
}

interface Seen {
  readonly id: string;
  readonly eventId: string;
  readonly leaseMs: number;
}

interface Claim {
  /** Finds candidates, when so many have been taken already. */
  readonly look: (read: (statement: Statement) => Promise<readonly Row[]>, taken: number) => Promise<Seen[]>;
  /** The statement that takes these. */
  readonly lease: (ids: string, leaseMs: number) => Statement;
  readonly worker: string;
  readonly receivers: readonly ClaimedReceiver[];
  /** Whether commits of this process renew what was claimed: not where a test's clock decides. */
  readonly keeps: boolean;
}

/**
 * Looks, and leases what was seen. The look is a read, so that a poll that finds nothing never asks for the write
 * lock, which all processes share. In between others may have taken some of the same rows; the missing ones are then
 * looked for under the lock, where nobody can come between.
 */
async function claimWith<Tx>(
  database: Database<Tx>,
  within: SqliteTransaction<unknown> | undefined,
  request: Claim,
): Promise<ClaimedDelivery[]> {
  if (within) return await lookAndLease(database, (statements) => within.run(statements), request, 0);
  const seen = await request.look((statement) => database.read(statement), 0);
  if (seen.length === 0) return [];
  const claimed = await lease(database, (statements) => database.write(statements), request, seen);
  if (claimed.length === seen.length) return claimed;
  const own = await database.begin();
  try {
    const more = await lookAndLease(database, (statements) => own.open.run(statements), request, claimed.length);
    await own.commit();
    return [...claimed, ...more];
  } catch (error) {
    await own.rollback();
    throw database.explained(error);
  }
}

type Run = (statements: readonly Statement[]) => Promise<Row[][]>;

async function lookAndLease<Tx>(
  database: Database<Tx>,
  run: Run,
  request: Claim,
  taken: number,
): Promise<ClaimedDelivery[]> {
  const seen = await request.look(async (statement) => (await run([statement]))[0]!, taken);
  return seen.length === 0 ? [] : await lease(database, run, request, seen);
}

async function lease<Tx>(
  database: Database<Tx>,
  run: Run,
  request: Claim,
  seen: readonly Seen[],
): Promise<ClaimedDelivery[]> {
  const byLease = Map.groupBy(seen, ({ leaseMs }) => leaseMs);
  const statements = [...byLease].map(([leaseMs, rows]) => request.lease(idsText(rows.map(({ id }) => id)), leaseMs));
  const eventIds = JSON.stringify([...new Set(seen.map(({ eventId }) => eventId))]);
  const results = await run([...statements, { sql: database.sql.eventsById, args: [eventIds] }]);
  const claimed = claimedOf(results.slice(0, statements.length).flat(), results[statements.length]!, request.worker);
  if (request.keeps) keep(database, claimed, request.receivers);
  return claimed;
}

/** What runs from now on is renewed with this process's commits. */
function keep<Tx>(
  { leases }: Database<Tx>,
  claimed: readonly ClaimedDelivery[],
  receivers: readonly ClaimedReceiver[],
): void {
  const leaseMs = new Map(receivers.map((receiver) => [receiver.key, receiver.leaseMs]));
  for (const { fence, receiverKey } of claimed) leases.claimed(fence, leaseMs.get(receiverKey)!);
}
