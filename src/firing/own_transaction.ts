import type { Core } from "../core.ts";
import { runAfterCommit } from "./after_commit.ts";
import { refuseWaitingForItself, surrounded, withTransaction } from "./ambient.ts";
import { runScope, TxScope } from "./transaction.ts";

/** Runs work in a transaction that the library opens and commits, then what the commit asks for. */
export async function ownTransaction<R, Client>(
  core: Core<Client>,
  work: (tx: TxScope<Client>) => Promise<R> | R,
  signal?: AbortSignal,
): Promise<R> {
  signal?.throwIfAborted();
  refuseWaitingForItself(core as Core, "open a transaction");
  const here = withTransaction(core as Core);
  try {
    const { result, asked } = await core.storage.transaction(async (storageTx) => {
      const scope = new TxScope(core as Core, storageTx);
      const result = await surrounded(here, () => runScope(scope, work));
      signal?.throwIfAborted();
      return { result, asked: scope.afterCommit };
    });
    // A task that outlives the transaction is surrounded by this object still.
    here.transaction.open = false;
    await runAfterCommit(core as Core, asked);
    return result;
  } finally {
    here.transaction.open = false;
  }
}
