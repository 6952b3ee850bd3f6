import type { GuardState } from "../guard.ts";
import { guard, scopeOf } from "../guard.ts";
import type { StorageTransaction } from "../storage.ts";
import type { Joined, Prepare } from "./clients/client.ts";
import type { Statements } from "./statements.ts";

/** A transaction that is open on Postgres, opened here or by somebody else. */
export class PostgresTransaction<Tx> implements StorageTransaction<Tx> {
  readonly client: Tx;
  readonly #joined: Joined<Tx>;
  readonly #statements: Statements;
  readonly #state: GuardState | null;
  readonly #mark: JoinedMark | null;

  /** With a state, the client that the user gets, and this transaction itself, stop working when it refuses. */
  constructor(
    joined: Joined<Tx>,
    statements: Statements,
    state: GuardState | null = null,
    mark: JoinedMark | null = null,
  ) {
    this.#mark = mark;
    this.#joined = joined;
    this.#statements = statements;
    this.#state = state;
    this.client = state === null ? joined.handle : guard(joined.handle as object, state) as Tx;
  }

  /**
   * Where statements of this library run.
   *
   * @throws {TypeError} when the transaction has ended.
   */
  get joined(): Joined<Tx> {
    const refusal = this.#state?.refusal ?? null;
    if (refusal !== null) throw new TypeError(refusal);
    return this.#joined;
  }

  /**
   * The mark that shows a statement whether this transaction is still the one: null for one that is opened and ended
   * here. Setting it travels ahead of the statement, once for the transaction (or for a savepoint, when that is first).
   */
  mark(prepare: Prepare): string | null {
    if (this.#mark === null) return null;
    if (!this.#mark.isSet) {
      this.#mark.isSet = true;
      // Its failure is that of the statement behind it.
      this.joined.run(this.#statements.markJoined, [this.#mark.token], prepare).catch(() => {});
    }
    return this.#mark.token;
  }

  async savepoint<R>(work: (tx: StorageTransaction<Tx>) => Promise<R>): Promise<R> {
    const state = this.#state === null ? null : scopeOf(this.#state);
    const run = (inner: Joined<Tx>): Promise<R> =>
      work(new PostgresTransaction(inner, this.#statements, state, inside(this.#mark)));
    const scopes = state?.scopes;
    if (scopes === undefined) return await this.joined.savepoint(run);
    return await scopes.opened(this.joined.savepoint((inner) => scopes.keep(() => run(inner))));
  }

  async doom(): Promise<void> {
    try {
      await this.#joined.run(this.#statements.doom, [this.#mark?.token ?? null], false);
    } catch {
      // Raising is what it is for.
    }
  }
}

/** Marks a transaction that somebody else's code ends. */
export interface JoinedMark {
  readonly token: string;
  isSet: boolean;
}

/** A new mark. */
export function joinedMark(): JoinedMark {
  return { token: crypto.randomUUID(), isSet: false };
}

// Set in a savepoint it goes with it, so the outer scope does not count on it; set outside it holds inside too.
function inside(mark: JoinedMark | null): JoinedMark | null {
  return mark === null ? null : { ...mark };
}

/** @throws {TypeError} when the transaction is of another storage. */
export function ours<Tx>(tx: StorageTransaction): PostgresTransaction<Tx> {
  if (tx instanceof PostgresTransaction) return tx;
  throw new TypeError("Cannot use this transaction on Postgres: it was opened by another storage");
}
