import { Uncommitted } from "../faults.ts";
import { quoted } from "../identifiers.ts";
import type { Begun, Client, Joined, Parameter, Prepare, Row, Statement } from "./client.ts";

/** What `pg` answers a query with, as far as this library uses it. */
interface PgResult {
  readonly rows: readonly Row[];
  readonly command: string;
}

/** What `pg` calls `ClientBase`, as far as this library uses it. */
export interface PgConnection {
  /** Runs a statement. */
  // deno-lint-ignore no-explicit-any
  query(config: any): any;
  /** Listens to the connection's events. */
  // deno-lint-ignore no-explicit-any
  on(event: any, listener: any): unknown;
}

/** A connection taken from a pool of `pg`. */
export interface PgPoolConnection extends PgConnection {
  /** Gives the connection back to the pool; with an error or true it is destroyed. */
  release(error?: Error | boolean): void;
}

/** What `pg` calls `Pool`, as far as this library uses it. `Tx` is what `connect` gives. */
export interface PgPool<Tx> extends PgConnection {
  /** Takes a connection. */
  connect(): Promise<Tx>;
  /** The same for callbacks. Declared because `Tx` would be inferred from this form if it were alone. */
  // deno-lint-ignore no-explicit-any
  connect(callback: (error: any, client: any, done: any) => void): void;
  /** Closes all connections. */
  end(): Promise<void>;
  /** How many connections are open. */
  readonly totalCount: number;
  /** The options that the pool was made with. */
  // deno-lint-ignore no-explicit-any
  readonly options: any;
}

/** A connection that belongs to no pool. */
interface PgOwnConnection extends PgConnection {
  connect(): Promise<unknown>;
  end(): Promise<void>;
}

/** The options of a pool that matter here. */
interface Options {
  readonly max?: number;
  readonly host?: string;
  readonly port?: string | number;
  readonly user?: string;
  readonly database?: string;
  readonly connectionString?: string;
  options?: string;
}

/** Text as the server sent it: nobody's type parsers can touch our rows. */
const TEXT = { getTypeParser: () => (text: string): string => text };

/** Whether a value is a `Pool`. */
export function isPgPool(value: unknown): value is PgPool<PgPoolConnection> {
  const pool = value as Partial<Record<string, unknown>> | null;
  return typeof value === "object" && pool !== null && typeof pool.connect === "function" &&
    typeof pool.query === "function" && typeof pool.totalCount === "number";
}

/** Whether a value is a `Client` or a `PoolClient`. */
export function isPgConnection(value: unknown): value is PgConnection {
  const client = value as Partial<Record<string, unknown>> | null;
  return typeof value === "object" && client !== null && typeof client.query === "function" &&
    typeof client.connect === "function" && typeof client.on === "function" && client.totalCount === undefined;
}

/** Whether a connection says that no transaction is open on it; releases of `pg` before 8.18 cannot tell. */
export function isIdlePgConnection(client: PgConnection): boolean {
  return statusOf(client) === "I";
}

function statusOf(client: PgConnection): unknown {
  const { getTransactionStatus } = client as { getTransactionStatus?: () => unknown };
  return typeof getTransactionStatus === "function" ? getTransactionStatus.call(client) : undefined;
}

/** Adds start-up options to a pool that has not connected yet; its factory may not have passed them on. */
export function startPgWith(pool: PgPool<never>, startup: string | undefined): void {
  if (startup === undefined) return;
  const options = pool.options as Options;
  if (options.options?.includes(startup)) return;
  options.options = options.options ? `${options.options} ${startup}` : startup;
}

/** What is to run next on each connection: `pg` does not want to be handed a statement while others wait. */
const waiting: WeakMap<PgConnection, Promise<unknown>> = new WeakMap();

async function ask(on: PgConnection, query: object): Promise<PgResult> {
  if (isPgPool(on)) return await on.query(query);
  const before = waiting.get(on);
  const asked: Promise<PgResult> = before === undefined
    ? Promise.resolve(on.query(query))
    : before.then(() => on.query(query), () => on.query(query));
  waiting.set(on, asked);
  try {
    return await asked;
  } finally {
    if (waiting.get(on) === asked) waiting.delete(on);
  }
}

async function run(
  on: PgConnection,
  statement: Statement,
  values: readonly Parameter[],
  prepare: Prepare,
): Promise<readonly Row[]> {
  const query = { text: statement.text, values, rowMode: "array", types: TEXT };
  const result = await ask(on, prepare === true ? { ...query, name: statement.name } : query);
  return result.rows;
}

async function say(on: PgConnection, text: string): Promise<PgResult> {
  return await ask(on, { text });
}

/** Fits an open transaction of `pg`. */
export function joinPg<Tx>(handle: Tx, depth = 0): Joined<Tx> {
  const on = handle as PgConnection;
  return {
    handle,
    run: (statement, parameters, prepare) => run(on, statement, parameters, prepare),
    savepoint: (work) => savepoint(on, depth, () => work(joinPg(handle, depth + 1))),
  };
}

async function savepoint<R>(on: PgConnection, depth: number, work: () => Promise<R>): Promise<R> {
  const name = `owed_${depth}`;
  await say(on, `savepoint ${name}`);
  try {
    const result = await work();
    // Fails when a statement in it had failed; leaves nothing to the commit that a release would not.
    await say(on, `release savepoint ${name}`);
    return result;
  } catch (error) {
    await say(on, `rollback to savepoint ${name}`).catch(() => {});
    throw error;
  }
}

/** Fits a pool of `pg`. */
export function fitPg<Tx>(pool: PgPool<Tx>): Client<Tx> {
  // Without a listener, the loss of an idle connection would end the process.
  pool.on("error", () => {});
  const options = pool.options as Options;
  return {
    max: Number(options.max ?? 10),
    address: addressOf(options),
    run: (statement, parameters, prepare) => run(pool, statement, parameters, prepare),
    transaction: (work) => begin(pool, work),
    listen: (channel, heard, listening, signal) => listen(pool, channel, heard, listening, signal),
    end: () => pool.end(),
  };
}

async function begin<Tx, R>(pool: PgPool<Tx>, work: (tx: Begun<Tx>) => Promise<R>): Promise<R> {
  const handle = await pool.connect();
  const connection = handle as PgPoolConnection;
  const use = useOf(connection);
  try {
    await say(connection, "begin isolation level read committed");
    const result = await work({ ...joinPg(handle), cut: () => use.end(true) });
    const { command } = await say(connection, "commit");
    if (command !== "COMMIT") throw new Uncommitted();
    use.end(false);
    return result;
  } catch (error) {
    // A connection that cannot even roll back must not serve anybody else.
    await say(connection, "rollback").then(() => use.end(false), () => use.end(true));
    throw error;
  }
}

/** One use of a pooled connection, ended once; its loss must not end the process meanwhile. */
function useOf(connection: PgPoolConnection): { end(destroy: boolean): void } {
  let ended = false;
  let broken = false;
  const onError = (): void => {
    broken = true;
  };
  connection.on("error", onError);
  return {
    end(destroy) {
      if (ended) return;
      ended = true;
      connection.release(destroy || broken);
      (connection as unknown as { off(event: string, listener: () => void): void }).off("error", onError);
    },
  };
}

async function listen<Tx>(
  pool: PgPool<Tx>,
  channel: string,
  heard: (payload: string) => void,
  listening: () => void,
  signal: AbortSignal,
): Promise<void> {
  // A connection beside the pool, made as the pool makes its own, so that it takes nobody's place.
  const { Client } = pool as unknown as { Client: new (options: unknown) => PgOwnConnection };
  const connection = new Client(pool.options);
  const over = Promise.withResolvers<void>();
  const end = (): void => over.resolve();
  connection.on("error", end);
  connection.on("end", end);
  connection.on("notification", (message: { channel: string; payload?: string }) => {
    if (message.channel === channel) heard(message.payload ?? "");
  });
  signal.addEventListener("abort", end);
  try {
    await connection.connect();
    await say(connection, `listen ${quoted(channel)}`);
    listening();
    await over.promise;
  } finally {
    signal.removeEventListener("abort", end);
    await connection.end().catch(() => {});
  }
}

function addressOf(options: Options): string {
  if (options.connectionString !== undefined) {
    try {
      const url = new URL(options.connectionString);
      return `postgres://${url.username ? `${url.username}@` : ""}${url.host}${url.pathname}`;
    } catch {
      // Not a URL: what the pool was given beside it must do.
    }
  }
  const user = options.user ? `${options.user}@` : "";
  return `postgres://${user}${options.host ?? "localhost"}:${options.port ?? 5432}/${options.database ?? ""}`;
}
