/**
 * What this backend asks of a driver. libSQL is the first; `node:sqlite` and `bun:sqlite` have the same five things to
 * say: where the database is, read, write a batch, open a transaction, wrap one that is open.
 */

/** What is bound: integers as bigint, since a JavaScript number would arrive as a float. */
export type Value = string | bigint | null;

/** One statement; its parameters are numbered `?1`, `?2` ... */
export interface Statement {
  readonly sql: string;
  readonly args: readonly Value[];
}

/** A row by column name. Statements cast integers to text, so that no driver's integer mode matters. */
export type Row = Readonly<Record<string, unknown>>;

/** Where the database is. */
export type Place =
  /** In this process, on one connection: nothing else can be done while a transaction is open. */
  | { readonly kind: "memory" }
  /** A file, by its full path. */
  | { readonly kind: "file"; readonly path: string }
  /** Behind a server, which does the waiting for locks. */
  | { readonly kind: "remote" };

/** A write transaction that is open. */
export interface OpenTransaction<Tx = unknown> {
  /** The driver's own object. */
  readonly handle: Tx;
  /** False once it has been committed or rolled back, by whomever. */
  readonly isOpen: boolean;
  /** Runs statements in order; the first that fails ends it. */
  run(statements: readonly Statement[]): Promise<Row[][]>;
  /** Runs a script of statements without parameters. */
  script(sql: string): Promise<void>;
  commit(): Promise<void>;
  /** Undoes everything and frees the connection. Never throws; harmless when it has ended. */
  rollback(): Promise<void>;
}

/** A driver's client. */
export interface SqliteClient<Tx = unknown> {
  /** Identifies the database for those who share a client. */
  readonly identity: object;
  /** Finds out where the database is; touches no lock. */
  locate(): Promise<Place>;
  /** One statement outside of any transaction of ours. */
  read(statement: Statement): Promise<Row[]>;
  /** A script of statements without parameters, outside of any transaction. */
  script(sql: string): Promise<void>;
  /** Runs statements in one write transaction; one round trip where the database is remote. */
  batch(statements: readonly Statement[]): Promise<Row[][]>;
  /** Opens a write transaction that can commit. `setUp` is a script that runs first, under the lock. */
  begin(setUp?: string): Promise<OpenTransaction<Tx>>;
  /** Wraps a transaction that somebody else opened, or null when the value is none that this driver knows. */
  join(client: unknown): OpenTransaction<Tx> | null;
  /** Replaces connections that an error has left unusable. */
  reconnect(): void;
  /** Closes what was opened by a factory. */
  close(): void;
}
