import { guard } from "../guard.ts";
import type { StorageTransaction } from "../storage.ts";
import type { OpenTransaction, Row, Statement } from "./clients/client.ts";
import { Watch } from "./watch.ts";

/** What the scopes of one transaction share. */
interface Root<Tx> {
  readonly open: OpenTransaction<Tx>;
  /** Whether somebody else opened it, and uses the handle as they like. */
  readonly isForeign: boolean;
  /** Numbers the savepoints, so that no two names are alike. */
  savepoints: number;
}

/** A transaction as the contract shows it, or one scope of it. */
export class SqliteTransaction<Tx> implements StorageTransaction<Tx> {
  readonly client: Tx;
  readonly watch: Watch;
  readonly #root: Root<Tx>;
  readonly #outer: SqliteTransaction<Tx> | undefined;
  #isDoomed = false;

  private constructor(root: Root<Tx>, outer?: SqliteTransaction<Tx>) {
    this.#root = root;
    this.#outer = outer;
    this.watch = new Watch(outer?.watch);
    const { handle } = root.open;
    this.client = root.isForeign ? handle : guard(handle as object, this.watch) as Tx;
  }

  /** A transaction that we opened. */
  static own<Tx>(open: OpenTransaction<Tx>): SqliteTransaction<Tx> {
    return new SqliteTransaction({ open, isForeign: false, savepoints: 0 });
  }

  /** A transaction that somebody else opened. */
  static foreign<Tx>(open: OpenTransaction<Tx>): SqliteTransaction<Tx> {
    return new SqliteTransaction({ open, isForeign: true, savepoints: 0 });
  }

  /** The transaction of a verb's `tx` or `within`. */
  static of(tx: StorageTransaction): SqliteTransaction<unknown> {
    if (tx instanceof SqliteTransaction) return tx;
    throw new TypeError("Cannot use this transaction: it is not of this storage");
  }

  get isDoomed(): boolean {
    return this.#isDoomed;
  }

  /** A scope with a handle of its own. */
  scope(): SqliteTransaction<Tx> {
    return new SqliteTransaction(this.#root, this);
  }

  /** Runs statements in it, unless its time is over. */
  async run(statements: readonly Statement[]): Promise<Row[][]> {
    const { refusal } = this.watch;
    if (refusal !== null) throw new TypeError(refusal);
    return await this.#root.open.run(statements);
  }

  async savepoint<R>(work: (tx: SqliteTransaction<Tx>) => Promise<R>): Promise<R> {
    const name = await this.beginSavepoint();
    const inner = this.scope();
    try {
      const result = await work(inner);
      if (inner.isDoomed) throw doomed("savepoint");
      await this.releaseSavepoint(name);
      inner.watch.kept();
      return result;
    } catch (error) {
      await this.undoSavepoint(name);
      throw error;
    } finally {
      inner.watch.refuse("Cannot use this transaction: its savepoint has ended");
    }
  }

  /** Sets a savepoint and returns its name. */
  async beginSavepoint(): Promise<string> {
    const name = `owed_${this.#root.savepoints += 1}`;
    await this.run([{ sql: `savepoint ${name}`, args: [] }]);
    return name;
  }

  /** Keeps what was done since. */
  async releaseSavepoint(name: string): Promise<void> {
    await this.#root.open.run([{ sql: `release ${name}`, args: [] }]);
  }

  /** Undoes what was done since and keeps the savepoint. Nothing is left to undo when the whole has ended. */
  async returnToSavepoint(name: string): Promise<void> {
    const { open } = this.#root;
    if (open.isOpen) await open.run([{ sql: `rollback to ${name}`, args: [] }]);
  }

  /** Undoes what was done since, and the savepoint. */
  async undoSavepoint(name: string): Promise<void> {
    await this.returnToSavepoint(name);
    if (this.#root.open.isOpen) await this.releaseSavepoint(name);
  }

  /** A scope of ours is rolled back at its end; what somebody else will commit is rolled back at once. */
  async doom(): Promise<void> {
    this.#isDoomed = true;
    const { open, isForeign } = this.#root;
    if (!isForeign || this.#outer) return;
    await open.rollback();
    if (open.isOpen) throw new Error("Cannot roll the joined transaction back: it does not let anybody end it");
  }
}

/** Thrown where doomed work would have been committed. */
export function doomed(what: "transaction" | "savepoint"): Error {
  return new Error(`Cannot commit the ${what}: it was refused while it was open, and has been rolled back`);
}
