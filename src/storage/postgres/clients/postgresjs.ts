import { codeOf, Uncommitted } from "../faults.ts";
import { Life } from "./life.ts";
import type { Begun, Client, Joined, Parameter, Prepare, Row, Statement } from "./client.ts";

/** A query of postgres.js. It runs when it is observed. */
export interface PostgresJsQuery extends PromiseLike<unknown> {
  /** Gives each row as an array of its columns. */
  values(): PromiseLike<unknown>;
}

/** What postgres.js calls `TransactionSql`, as far as this library uses it. */
export interface PostgresJsTransaction {
  /** Runs a statement that is given as text. */
  // deno-lint-ignore no-explicit-any
  unsafe(query: string, parameters?: any[], options?: { prepare?: boolean }): PostgresJsQuery;
  /** Runs work under a savepoint. */
  // deno-lint-ignore no-explicit-any
  savepoint(work: (sql: any) => any): Promise<any>;
}

/** What postgres.js calls `Sql`, as far as this library uses it. `Tx` is the argument of `begin`'s callback. */
export interface PostgresJsClient<Tx> {
  /** Runs work in a transaction. */
  // deno-lint-ignore no-explicit-any
  begin(options: string, work: (sql: Tx) => any): Promise<any>;
  /** Runs a statement that is given as text. */
  // deno-lint-ignore no-explicit-any
  unsafe(query: string, parameters?: any[], options?: { prepare?: boolean }): PostgresJsQuery;
  /** Hears what is notified on a channel. */
  // deno-lint-ignore no-explicit-any
  listen(channel: string, heard: (payload: string) => void, listening?: () => void): PromiseLike<any>;
  /** Closes all connections. */
  end(options?: { timeout?: number }): Promise<void>;
  /** The options that the client was made with. */
  // deno-lint-ignore no-explicit-any
  readonly options: any;
}

/** The parsed options of postgres.js that matter here. */
interface Options {
  readonly max?: number;
  readonly host?: readonly string[];
  readonly port?: readonly (string | number)[];
  readonly path?: string | false;
  readonly user?: string;
  readonly database?: string;
  connection?: Record<string, unknown>;
  backoff?: (retries: number) => number;
}

/** The longest pause before a client of ours connects again. */
const MOST_BACKOFF_SECONDS = 2;

/** Whether a value is a `TransactionSql`. */
export function isPostgresJsTransaction(value: unknown): value is PostgresJsTransaction {
  const sql = value as Partial<Record<string, unknown>> | null;
  return typeof value === "function" && typeof sql?.savepoint === "function" && typeof sql.unsafe === "function" &&
    sql.begin === undefined;
}

/** Whether a value is a `Sql`. */
export function isPostgresJsClient(value: unknown): value is PostgresJsClient<PostgresJsTransaction> {
  const sql = value as Partial<Record<string, unknown>> | null;
  return typeof value === "function" && typeof sql?.begin === "function" && typeof sql.unsafe === "function" &&
    typeof sql.listen === "function" && sql.release === undefined;
}

/**
 * Sets up a client of ours that has not connected yet. Its factory may not have passed the start-up options on; and
 * after an outage it shall not wait for longer than we do.
 */
export function startPostgresJsWith(sql: PostgresJsClient<never>, startup: string | undefined): void {
  const options = sql.options as Options;
  options.backoff = (retries) => Math.min(0.05 * 2 ** retries, MOST_BACKOFF_SECONDS) * (0.5 + Math.random() / 2);
  if (startup === undefined) return;
  const given = options.connection?.["options"];
  if (typeof given === "string" && given.includes(startup)) return;
  options.connection = { ...options.connection, options: given === undefined ? startup : `${given} ${startup}` };
}

async function run(
  sql: Pick<PostgresJsTransaction, "unsafe">,
  statement: Statement,
  parameters: readonly Parameter[],
  prepare: Prepare,
): Promise<readonly Row[]> {
  // Prepared, postgres.js pipelines; unprepared, each statement with parameters costs a second trip to describe it.
  return await sql.unsafe(statement.text, [...parameters], { prepare: prepare ?? true }).values() as Row[];
}

/** Fits an open transaction of postgres.js; `life` is known of those that were opened here. */
export function joinPostgresJs<Tx>(handle: Tx, life: Life = new Life()): Joined<Tx> {
  const sql = handle as PostgresJsTransaction;
  return {
    handle,
    run: (statement, parameters, prepare) => run(sql, statement, parameters, prepare),
    savepoint: async (work) => {
      // In an object, because postgres.js would wait for the members of an array.
      const done = sql.savepoint((inner: Tx) =>
        life.keep(async () => ({ value: await work(joinPostgresJs(inner, life)) }))
      );
      const { value } = await Promise.race([done, life.lost]);
      return value;
    },
  };
}

/** Fits a client of postgres.js. */
export function fitPostgresJs<Tx>(sql: PostgresJsClient<Tx>): Client<Tx> {
  const options = sql.options as Options;
  return {
    max: Number(options.max ?? 10),
    address: addressOf(options),
    run: (statement, parameters, prepare) => run(sql, statement, parameters, prepare),
    transaction: (work) => begin(sql, work),
    listen: (channel, heard, listening, signal) => listen(sql, channel, heard, listening, signal),
    end: (cutAfterSeconds) => sql.end(cutAfterSeconds === undefined ? {} : { timeout: cutAfterSeconds }),
  };
}

async function begin<Tx, R>(sql: PostgresJsClient<Tx>, work: (tx: Begun<Tx>) => Promise<R>): Promise<R> {
  const life = new Life();
  try {
    // Travels ahead of COMMIT. postgres.js does not look at what the server answers to that, which is ROLLBACK when a
    // statement had failed that nobody awaited.
    let last: Promise<unknown> = Promise.resolve();
    const done: { readonly value: R } = await sql.begin(
      "isolation level read committed",
      (handle: Tx) =>
        life.keep(async () => {
          const value = await work({ ...joinPostgresJs(handle, life), cut: null });
          last = Promise.resolve((handle as PostgresJsTransaction).unsafe("select 1", [], { prepare: false }));
          last.catch(() => {});
          return { value };
        }),
    );
    await last.catch((error) => {
      throw codeOf(error) === "25P02" ? new Uncommitted() : error;
    });
    return done.value;
  } catch (error) {
    life.end(error);
    throw error;
  }
}

async function listen<Tx>(
  sql: PostgresJsClient<Tx>,
  channel: string,
  heard: (payload: string) => void,
  listening: () => void,
  signal: AbortSignal,
): Promise<void> {
  const aborted = new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  const subscription = await sql.listen(channel, heard, listening) as { unlisten(): Promise<unknown> };
  // It reconnects by itself.
  await aborted;
  await subscription.unlisten();
}

function addressOf(options: Options): string {
  const user = options.user ? `${options.user}@` : "";
  if (options.path) return `postgres://${user}${options.path}/${options.database ?? ""}`;
  const hosts = (options.host ?? []).map((host, index) => `${host}:${options.port?.[index] ?? 5432}`).join(",");
  return `postgres://${user}${hosts}/${options.database ?? ""}`;
}
