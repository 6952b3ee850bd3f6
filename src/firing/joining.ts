import type { Core, Join } from "../core.ts";
import { type AfterCommit, runAfterCommit } from "./after_commit.ts";
import { refuseWaitingForItself, surrounded, withTransaction } from "./ambient.ts";
import { TxScope } from "./transaction.ts";

// How long a fire that nobody awaited may trail the end of the caller's code.
const LATE_MS = 1000;

/**
 * Runs work in which the caller's own code opens and commits transactions, then what the fired events ask for. We see
 * neither the commit nor the savepoints there, so each event is looked up before anything is done for it.
 */
export async function joinTransactions<R, Client>(
  core: Core<Client>,
  work: (join: Join<Client>) => Promise<R>,
  signal?: AbortSignal,
): Promise<R> {
  signal?.throwIfAborted();
  refuseWaitingForItself(core as Core, "join a transaction");
  const here = withTransaction(core as Core);
  const scopes: TxScope<Client>[] = [];
  const join: Join<Client> = (client) => {
    signal?.throwIfAborted();
    const scope = new TxScope<Client>(core as Core, core.storage.join(client), true);
    scopes.push(scope);
    return scope;
  };
  try {
    const result = await core.storage.yielding(() => surrounded(here, () => work(join)));
    here.transaction.open = false;
    // By now the caller's code has committed or rolled back: a fire still under way has come too late and says so.
    const late = await failures(scopes);
    const asked = await reallyThere(core as Core, scopes.flatMap((scope) => scope.afterCommit));
    const committed = new Set(asked.map((one) => one.eventId));
    const failure = late.find(({ scope }) => !wasUndoneAlone(scope, scopes, committed));
    await runAfterCommit(core as Core, asked);
    if (failure) throw failure.error;
    return result;
  } catch (error) {
    for (const scope of scopes) void scope.fail();
    // The driver's own complaint about the transaction that the veto broke would hide why.
    const vetoed = scopes.find((scope) => scope.veto !== undefined);
    throw vetoed ? vetoed.veto!.reason : error;
  } finally {
    here.transaction.open = false;
  }
}

interface Failure<Client> {
  readonly scope: TxScope<Client>;
  readonly error: unknown;
}

async function failures<Client>(scopes: readonly TxScope<Client>[]): Promise<Failure<Client>[]> {
  const failed: Failure<Client>[] = [];
  for (const scope of scopes) {
    try {
      await endsSoon(scope.finish());
    } catch (error) {
      failed.push({ scope, error });
    }
  }
  return failed;
}

// A veto in a savepoint of the caller's own, which undid it, has not kept the rest from committing: what was fired
// there tells. Nothing fired, nothing known: then the veto stands.
function wasUndoneAlone<Client>(
  vetoed: TxScope<Client>,
  scopes: readonly TxScope<Client>[],
  committed: ReadonlySet<string>,
): boolean {
  if (vetoed.veto === undefined) return false;
  const isThere = (scope: TxScope<Client>) => scope.afterCommit.some((one) => committed.has(one.eventId));
  const beside = scopes.filter((scope) => scope.client === vetoed.client);
  // A driver may have a handle of its own for each savepoint.
  return (beside.some((scope) => scope.afterCommit.length > 0) ? beside : scopes).some(isThere);
}

// A driver may keep a statement that came too late for its transaction for ever.
async function endsSoon(finishing: Promise<void>): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TypeError("Cannot fire: the joined transaction ended first; await each fire before it commits"));
    }, LATE_MS);
  });
  try {
    await Promise.race([finishing, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function reallyThere(core: Core, asked: readonly AfterCommit[]): Promise<AfterCommit[]> {
  if (asked.length === 0) return [];
  const found = await core.storage.findEvents({ ids: asked.map((one) => one.eventId) });
  const ids = new Set(found.map((event) => event.id));
  return asked.filter((one) => ids.has(one.eventId));
}
