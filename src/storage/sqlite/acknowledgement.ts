import { WorkFailed } from "../../errors.ts";
import type { Answer, Fence, Settlement } from "../settlement.ts";
import type { Acknowledgement } from "../storage.ts";
import type { Database, OwnTransaction } from "./database.ts";
import { isConstraint } from "./failures.ts";
import { settleAlone, settleIn } from "./settle.ts";
import { SqliteTransaction } from "./transaction.ts";

// Taken at load: a test that fakes the clock must not keep a hung receiver on the lock for ever.
const { setTimeout, clearTimeout } = globalThis;

/** The receiver's own timeout, set to the same moment, is to come first: it knows what to record. */
const GRACE_MS = 1_000;

const ENDED = "Cannot use the receiver's transaction: the attempt has ended";

/** Opens a transaction for a receiver and checks its claim; null when the claim is lost. */
export async function openAcknowledgement<Tx>(
  database: Database<Tx>,
  fence: Fence,
  timeoutMs: number,
): Promise<Acknowledgement<Tx> | null> {
  const own = await database.begin();
  try {
    const outer = SqliteTransaction.own(own.open);
    if (await holds(database, outer, fence)) {
      return new OwnAcknowledgement(database, own, outer, await outer.beginSavepoint(), fence, timeoutMs);
    }
    await own.rollback();
    return null;
  } catch (error) {
    await own.rollback();
    throw database.explained(error);
  }
}

/** The same in a savepoint of a transaction that is open. */
export async function openAcknowledgementWithin<Tx>(
  database: Database<Tx>,
  fence: Fence,
  outer: SqliteTransaction<Tx>,
): Promise<Acknowledgement<Tx> | null> {
  if (!(await holds(database, outer, fence))) return null;
  return new InnerAcknowledgement(database, outer, await outer.beginSavepoint(), fence);
}

async function holds<Tx>({ sql }: Database<Tx>, tx: SqliteTransaction<Tx>, fence: Fence): Promise<boolean> {
  const args = [BigInt(fence.id), fence.claimedBy, fence.claimedAt];
  const [rows] = await tx.run([{ sql: sql.lockFence, args }]);
  return rows!.length > 0;
}

/** What both kinds do: lend the receiver a handle, keep its work or undo it, and record under the same lock. */
class InnerAcknowledgement<Tx> implements Acknowledgement<Tx> {
  readonly tx: SqliteTransaction<Tx>;
  protected readonly database: Database<Tx>;
  protected readonly outer: SqliteTransaction<Tx>;
  protected readonly fence: Fence;
  readonly #savepoint: string;
  #isOver = false;

  constructor(database: Database<Tx>, outer: SqliteTransaction<Tx>, savepoint: string, fence: Fence) {
    this.database = database;
    this.outer = outer;
    this.fence = fence;
    this.#savepoint = savepoint;
    this.tx = outer.scope();
  }

  async finish(settlement: Settlement): Promise<Answer> {
    if (this.#isOver) return "lost";
    const answer = await this.record(settlement);
    this.tx.watch.refuse(ENDED);
    this.#isOver = true;
    if (answer === "applied") await this.outer.releaseSavepoint(this.#savepoint);
    else await this.outer.undoSavepoint(this.#savepoint);
    return answer;
  }

  async abandon(): Promise<void> {
    this.tx.watch.refuse(ENDED);
    if (this.#isOver) return;
    this.#isOver = true;
    await this.outer.undoSavepoint(this.#savepoint);
  }

  /** Undoes the work unless it is to be kept, and settles. */
  protected async record(settlement: Settlement): Promise<Answer> {
    if (settlement.kind === "succeeded") {
      const { failure } = this.tx.watch;
      if (failure) throw new WorkFailed(failure.cause);
      if (this.tx.isDoomed) throw new WorkFailed(new Error("What was fired in the receiver's transaction was refused"));
    } else {
      this.tx.watch.refuse(ENDED);
      await this.outer.returnToSavepoint(this.#savepoint);
    }
    return await settleIn(this.database, this.outer, { fence: this.fence, settlement });
  }
}

class OwnAcknowledgement<Tx> extends InnerAcknowledgement<Tx> {
  readonly #own: OwnTransaction<Tx>;
  readonly #cap: ReturnType<typeof setTimeout>;
  /** Why there is no transaction any more, once there is none. */
  #ended: string | undefined;

  constructor(
    database: Database<Tx>,
    own: OwnTransaction<Tx>,
    outer: SqliteTransaction<Tx>,
    savepoint: string,
    fence: Fence,
    timeoutMs: number,
  ) {
    super(database, outer, savepoint, fence);
    this.#own = own;
    // A receiver that hangs in here stops every writer of the file; not for longer than this.
    const capMs = timeoutMs + GRACE_MS;
    const why = `Cannot use the receiver's transaction: it was rolled back after ${capMs} ms`;
    this.#cap = setTimeout(() => void this.#end(why), capMs);
  }

  override async finish(settlement: Settlement): Promise<Answer> {
    if (this.#ended === undefined && !this.#own.open.isOpen) {
      await this.#end("Cannot use the receiver's transaction: a failed statement has ended it");
    }
    if (this.#ended !== undefined) return await this.#finishWithout(settlement, this.#ended);
    try {
      const answer = await this.record(settlement);
      this.tx.watch.refuse(ENDED);
      if (answer !== "applied") {
        await this.#end(ENDED);
        return answer;
      }
      clearTimeout(this.#cap);
      await this.#own.commit();
      this.#over(ENDED);
      return answer;
    } catch (error) {
      if (error instanceof WorkFailed) throw error;
      // A constraint that is checked at commit is the work's fault, and the transaction is still there.
      if (settlement.kind === "succeeded" && isConstraint(error) && this.#own.open.isOpen) throw new WorkFailed(error);
      await this.#end(ENDED);
      throw this.database.explained(error);
    }
  }

  override async abandon(): Promise<void> {
    await this.#end(ENDED);
  }

  /** The work is gone, so no success can be recorded; a failure can, if nobody has taken the row. */
  async #finishWithout(settlement: Settlement, why: string): Promise<Answer> {
    if (settlement.kind === "succeeded") throw new WorkFailed(this.tx.watch.failure?.cause ?? new Error(why));
    return await settleAlone(this.database, { fence: this.fence, settlement });
  }

  async #end(why: string): Promise<void> {
    if (this.#ended !== undefined) return;
    this.#over(why);
    await this.#own.rollback();
  }

  #over(why: string): void {
    clearTimeout(this.#cap);
    this.#ended = why;
    this.outer.watch.refuse(why);
  }
}
