import type { Instant } from "../../instant.ts";
import { type Answer, claimKey, type Fence, type FencedSettlement } from "../settlement.ts";
import type { Row, Statement } from "./clients/client.ts";
import type { Database } from "./database.ts";
import { arrayOf, claimKeysOf } from "./rows.ts";
import type { Statements } from "./statements.ts";
import { fencesText, idsText, settlementsText } from "./values.ts";

/** Where statements run: in a write transaction of their own, or in one that is open. */
type Run = (statements: readonly Statement[]) => Promise<Row[][]>;

/** Settles in a transaction of its own. */
export async function settleAll<Tx>(
  database: Database<Tx>,
  settlements: readonly FencedSettlement[],
  now: Instant | null,
): Promise<Answer[]> {
  const classify: Run = async ([statement]) => [await database.read(statement!)];
  return await settle(database, (statements) => database.write(statements), classify, settlements, now);
}

/** Settles one in a transaction of its own. */
export async function settleAlone<Tx>(database: Database<Tx>, settlement: FencedSettlement): Promise<Answer> {
  const [answer] = await settleAll(database, [settlement], null);
  return answer!;
}

/** Settles one in a transaction that is open. */
export async function settleIn<Tx>(
  database: Database<Tx>,
  tx: { run: Run },
  settlement: FencedSettlement,
): Promise<Answer> {
  const [answer] = await settleAllIn(database, tx, [settlement], null);
  return answer!;
}

/** Settles in a transaction that is open. */
export async function settleAllIn<Tx>(
  database: Database<Tx>,
  tx: { run: Run },
  settlements: readonly FencedSettlement[],
  now: Instant | null,
): Promise<Answer[]> {
  const run: Run = (statements) => tx.run(statements);
  return await settle(database, run, run, settlements, now);
}

async function settle<Tx>(
  { sql, leases }: Database<Tx>,
  write: Run,
  read: Run,
  settlements: readonly FencedSettlement[],
  now: Instant | null,
): Promise<Answer[]> {
  if (settlements.length === 0) return [];
  const results = await write(statementsOf(sql, settlements, now));
  for (const { fence } of settlements) leases.ended(fence);
  const applied = claimKeysOf(results.flat());
  const rest = settlements.filter(({ fence }) => !applied.has(claimKey(fence))).map(({ fence }) => fence.id);
  const holders = new Map<string, Holder>();
  if (rest.length > 0) {
    const [found] = await read([{ sql: sql.classify, args: [idsText(rest)] }]);
    for (const row of found!) {
      const [id, by, at] = arrayOf(row);
      holders.set(String(id), { by, at });
    }
  }
  return settlements.map(({ fence }) =>
    applied.has(claimKey(fence)) ? "applied" : answerFor(fence, holders.get(fence.id))
  );
}

function statementsOf(sql: Statements, settlements: readonly FencedSettlement[], now: Instant | null): Statement[] {
  const succeeded = settlements.filter(({ settlement }) => settlement.kind === "succeeded").map(({ fence }) => fence);
  const others = settlements.filter(({ settlement }) => settlement.kind !== "succeeded");
  const statements: Statement[] = [];
  if (succeeded.length > 0) statements.push({ sql: sql.settleSucceeded, args: [fencesText(succeeded), now] });
  if (others.length > 0) statements.push({ sql: sql.settle, args: [settlementsText(others), now] });
  return statements;
}

/** By whom a row was claimed last; kept when it is settled or given back. */
interface Holder {
  readonly by: unknown;
  readonly at: unknown;
}

function answerFor(fence: Fence, holder: Holder | undefined): Answer {
  if (holder === undefined) return "gone";
  const isOurs = holder.by === fence.claimedBy && holder.at === fence.claimedAt.toString();
  return isOurs ? "already" : "lost";
}
