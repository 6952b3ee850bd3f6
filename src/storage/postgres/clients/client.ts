/** What this storage needs of a driver. One file beside this one fits each driver to it, by shape. */

/** A statement: its text, and a name under which a driver that needs one may prepare it. */
export interface Statement {
  readonly name: string;
  readonly text: string;
}

/** Values that cross as they are; instants, arrays and JSON travel as text. */
export type Parameter = string | number | null;

/** A row as an array of columns, so that nobody's renaming of columns can touch it. */
export type Row = readonly unknown[];

/** Whether the server may keep the statement's plan. Null: as the client is set up. */
export type Prepare = boolean | null;

/** Something on which a statement runs. */
export interface Session {
  run(statement: Statement, parameters: readonly Parameter[], prepare: Prepare): Promise<readonly Row[]>;
}

/** A transaction that is open. */
export interface Joined<Tx> extends Session {
  /** The driver's own object, for the user's statements. */
  readonly handle: Tx;
  /** Runs work under a savepoint; undone when the work throws, or when a statement in it had failed. */
  savepoint<R>(work: (inner: Joined<Tx>) => Promise<R>): Promise<R>;
}

/** A transaction that this storage opened. */
export interface Begun<Tx> extends Joined<Tx> {
  /** Cuts the connection at once, whatever hangs on it. Null where the driver cannot; then the server is asked to. */
  readonly cut: (() => void) | null;
}

/** A pool of connections. */
export interface Client<Tx> extends Session {
  /** How many connections it may open. */
  readonly max: number;
  /** Where it connects to, without the password. */
  readonly address: string;
  /** Begins at READ COMMITTED, commits when the work resolves, rolls back when it throws. */
  transaction<R>(work: (tx: Begun<Tx>) => Promise<R>): Promise<R>;
  /**
   * Listens on a connection of its own until the signal aborts or the connection ends; resolves when it ends.
   * `listening` is called each time the server has confirmed.
   */
  listen(channel: string, heard: (payload: string) => void, listening: () => void, signal: AbortSignal): Promise<void>;
  /** Closes all connections, each once its transaction has ended; cuts them after so many seconds, if given. */
  end(cutAfterSeconds?: number): Promise<void>;
}
