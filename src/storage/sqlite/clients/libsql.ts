import type { OpenTransaction, Place, Row, SqliteClient, Statement } from "./client.ts";

/** What a `@libsql/client` result has to have. */
export interface LibsqlResult {
  /** The rows, by column name. */
  // deno-lint-ignore no-explicit-any -- rows of @libsql/client have an index signature of their own value type
  rows: any[];
}

/** A statement with its parameters, as `@libsql/client` takes it. */
export interface LibsqlStatement {
  /** The text, with `?1`, `?2` ... */
  sql: string;
  /** The values of the parameters. */
  args: (string | bigint | null)[];
}

/** What an open transaction of `@libsql/client` has to have. */
export interface LibsqlTransaction {
  /** Runs one statement. */
  execute(statement: LibsqlStatement): Promise<LibsqlResult>;
  /** Runs statements in order. */
  batch(statements: LibsqlStatement[]): Promise<LibsqlResult[]>;
  /** Runs a script. */
  executeMultiple(sql: string): Promise<void>;
  /** Commits. */
  commit(): Promise<void>;
  /** Rolls back. */
  rollback(): Promise<void>;
  /** Rolls back unless it has ended. */
  close(): void;
  /** Whether it has ended. */
  closed: boolean;
}

/** What a `@libsql/client` client has to have; `Tx` is its transaction. */
export interface LibsqlClient<Tx extends LibsqlTransaction = LibsqlTransaction> {
  /** Runs one statement. */
  execute(statement: LibsqlStatement): Promise<LibsqlResult>;
  /** Runs statements in one transaction. */
  batch(statements: LibsqlStatement[], mode?: "write" | "read" | "deferred"): Promise<LibsqlResult[]>;
  /** Opens a transaction. */
  transaction(mode?: "write" | "read" | "deferred"): Promise<Tx>;
  /** Runs a script. */
  executeMultiple(sql: string): Promise<void>;
  /** Opens new connections in place of the old ones. */
  reconnect(): void;
  /** Closes the connections. */
  close(): void;
  /** Whether it was closed. */
  closed: boolean;
  /** `"file"`, `"http"` or `"ws"`. */
  protocol: string;
}

/** Its message, when a COMMIT meets a statement that an earlier SQLITE_BUSY has left unfinished on the connection. */
const UNFINISHED = /SQL statements in progress/;

/** SQLite waits for locks on the JavaScript thread; up to this long is left to it. */
const SHORT_WAIT_MS = 20;

/** How a `@libsql/client` client is used: by shape, so that it is no dependency. */
export class Libsql<Tx extends LibsqlTransaction> implements SqliteClient<Tx> {
  readonly #client: LibsqlClient<Tx>;
  readonly #isLocal: boolean;
  readonly #lock: string;
  /** The caller's busy timeout, when it is so long that waiting it out would freeze the event loop. */
  #longWait: string | undefined;

  /** `lock` is a statement that changes nothing and takes the write lock. */
  constructor(client: LibsqlClient<Tx>, lock: string) {
    this.#client = client;
    this.#isLocal = client.protocol === "file";
    this.#lock = lock;
  }

  get identity(): object {
    return this.#client;
  }

  async locate(): Promise<Place> {
    if (!this.#isLocal) return { kind: "remote" };
    const { rows } = await this.#client.execute({ sql: "pragma database_list", args: [] });
    const path: unknown = rows.find((row) => row.name === "main")?.file;
    const timeout = String(
      (await this.#client.execute({ sql: "pragma busy_timeout", args: [] })).rows[0]?.timeout ?? 0,
    );
    if (Number(timeout) > SHORT_WAIT_MS) this.#longWait = timeout;
    return typeof path === "string" && path !== "" ? { kind: "file", path } : { kind: "memory" };
  }

  async read(statement: Statement): Promise<Row[]> {
    return (await this.#client.execute(copyOf(statement))).rows;
  }

  async script(sql: string): Promise<void> {
    await this.#client.executeMultiple(sql);
  }

  async batch(statements: readonly Statement[]): Promise<Row[][]> {
    if (!this.#isLocal) {
      const results = await this.#client.batch(statements.map(copyOf), "write");
      return results.map((result) => result.rows);
    }
    const tx = await this.#take(this.#lock);
    try {
      const results = await tx.batch(statements.map(copyOf));
      await tx.executeMultiple("commit");
      return results.map((result) => result.rows);
    } catch (error) {
      throw this.#healed(tx, error);
    } finally {
      quietly(() => tx.close());
    }
  }

  async begin(setUp?: string): Promise<OpenTransaction<Tx>> {
    if (!this.#isLocal) {
      const tx = await this.#client.transaction("write");
      try {
        // A remote transaction begins with its first statement: a lock that is taken shows here, before any work.
        await tx.executeMultiple(setUp ?? "select 1");
      } catch (error) {
        quietly(() => tx.close());
        throw error;
      }
      return new LibsqlOpenTransaction(tx, () => tx.commit(), true);
    }
    // Committed once before it is used: on a connection that cannot commit this fails now, not after the work.
    const lock = setUp ?? this.#lock;
    const tx = await this.#take(`${lock}; commit; begin; ${lock}`);
    return new LibsqlOpenTransaction(tx, () => tx.executeMultiple("commit"), true);
  }

  join(client: unknown): OpenTransaction<Tx> | null {
    if (!isTransaction(client)) return null;
    return new LibsqlOpenTransaction(client as Tx, () => client.commit(), false);
  }

  reconnect(): void {
    this.#client.reconnect();
  }

  close(): void {
    this.#client.close();
  }

  /**
   * Opens a transaction that holds the write lock.
   *
   * Not by `transaction("write")`: when its BEGIN IMMEDIATE meets SQLITE_BUSY, the driver leaves the statement
   * unfinished on a pooled connection, and every later COMMIT there fails. A script's statements are finished whatever
   * happens, so the lock is taken by one, and a busy database leaves the caller's client as it was.
   */
  async #take(script: string): Promise<Tx> {
    const tx = await this.#client.transaction("deferred");
    const restore = this.#longWait === undefined ? "" : `pragma busy_timeout = ${this.#longWait};`;
    try {
      await tx.executeMultiple(restore === "" ? script : `pragma busy_timeout = 0; ${script}; ${restore}`);
      return tx;
    } catch (error) {
      if (restore !== "" && !tx.closed) await tx.executeMultiple(restore).catch(() => {});
      quietly(() => tx.close());
      throw this.#healed(tx, error);
    }
  }

  /**
   * Somebody else's busy statement has spoilt the connection: new ones are the only cure. This holds the write lock
   * when it is noticed, so no transaction of the caller that has written anything can be open on the client.
   */
  #healed(tx: Tx, error: unknown): unknown {
    if (error instanceof Error && UNFINISHED.test(error.message)) {
      quietly(() => tx.close());
      this.#client.reconnect();
    }
    return error;
  }
}

class LibsqlOpenTransaction<Tx extends LibsqlTransaction> implements OpenTransaction<Tx> {
  readonly handle: Tx;
  readonly #commit: () => Promise<void>;
  readonly #tx: Tx;

  constructor(tx: Tx, commit: () => Promise<void>, isOurs: boolean) {
    this.#tx = tx;
    this.#commit = commit;
    this.handle = isOurs ? lent(tx) : tx;
  }

  get isOpen(): boolean {
    return !this.#tx.closed;
  }

  async run(statements: readonly Statement[]): Promise<Row[][]> {
    const [only, ...more] = statements;
    if (only === undefined) return [];
    if (more.length === 0) return [(await this.#tx.execute(copyOf(only))).rows];
    return (await this.#tx.batch(statements.map(copyOf))).map((result) => result.rows);
  }

  async script(sql: string): Promise<void> {
    await this.#tx.executeMultiple(sql);
  }

  async commit(): Promise<void> {
    await this.#commit();
    quietly(() => this.#tx.close());
  }

  async rollback(): Promise<void> {
    try {
      if (!this.#tx.closed) await this.#tx.rollback();
    } catch { /* the connection is gone, and the transaction with it */ }
    quietly(() => this.#tx.close());
  }
}

const ENDS: ReadonlySet<PropertyKey> = new Set(["commit", "rollback", "close"]);

/** The transaction without the means to end it: that is for whoever opened it. */
function lent<Tx extends LibsqlTransaction>(tx: Tx): Tx {
  return new Proxy(tx, {
    get(target, property) {
      if (ENDS.has(property)) {
        return () => {
          throw new TypeError(
            `Cannot call ${String(property)}() on this transaction: the outbox ends it when the work has returned`,
          );
        };
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function isTransaction(value: unknown): value is LibsqlTransaction {
  if (typeof value !== "object" || value === null) return false;
  const given = value as Partial<Record<keyof LibsqlTransaction, unknown>>;
  return ["execute", "batch", "executeMultiple", "commit", "rollback"].every((name) =>
    typeof given[name as keyof LibsqlTransaction] === "function"
  ) && typeof given.closed === "boolean";
}

function copyOf({ sql, args }: Statement): LibsqlStatement {
  return { sql, args: [...args] };
}

function quietly(work: () => void): void {
  try {
    work();
  } catch { /* it is being thrown away */ }
}
