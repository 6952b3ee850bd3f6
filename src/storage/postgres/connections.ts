import { DatabaseUnreachable } from "../../errors.ts";
import { logger } from "../../log.ts";
import type { Begun, Client, Parameter, Row, Session, Statement } from "./clients/client.ts";
import { type Factory, fit, type Source, startWith } from "./clients/recognise.ts";
import { isConnectionLoss } from "./faults.ts";
import { settlesWithin } from "./timers.ts";

/**
 * The plans of claims, fixed. A plan that was made while the table was empty, or from statistics of a quieter hour,
 * or compiled to machine code at each execution, turns 5 ms into 50 to 200. One plan for all parameters, because a
 * claim that is planned at each execution costs 0.3 ms more.
 */
const PINNED =
  "-c plan_cache_mode=force_generic_plan -c jit=off -c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off " +
  "-c default_transaction_isolation=read\\ committed -c statement_timeout=30000";

/** Two overlapping claims are worth more than anything else; a third connection adds little. */
const RELAY_CONNECTIONS = 2;

/**
 * A claim that takes longer was given up by the server (see above), or the server cannot be reached any more. The same
 * for a receiver's transaction that does not open or end.
 */
const DEADLINE_MS = 40_000;

/** Connections that a factory's work pool has. */
const WORK_CONNECTIONS = 16;

const log = logger(["storage", "postgres"]);

/** Which connection serves which statement. */
export class Connections<Tx> {
  /** How long an answer is waited for. */
  readonly deadlineMs: number;
  readonly #factory: Factory<Tx> | null;
  readonly #prepare: boolean | null;
  readonly #address: string | null;
  #work: Client<Tx>;
  #relay: Client<Tx> | null = null;
  #pinned = true;
  #replacedAt = 0;

  constructor(source: Source<Tx>, prepare: boolean | null, address: string | null, deadlineMs = DEADLINE_MS) {
    if (typeof source !== "function" && fit(source) === null) {
      throw new TypeError(
        "Cannot make a Postgres storage: expected a Sql of postgres.js, a Pool of pg, or a function that makes one",
      );
    }
    this.deadlineMs = deadlineMs;
    this.#prepare = prepare;
    this.#address = address;
    const client = fit<Tx>(source);
    if (client !== null) {
      this.#factory = null;
      this.#work = client;
      return;
    }
    this.#factory = source as Factory<Tx>;
    this.#work = this.#make({ max: WORK_CONNECTIONS });
  }

  /** How many transactions of receivers may be open at once. */
  get room(): number {
    // Where claims share the caller's pool, one connection is kept for them.
    return Math.max(1, this.#work.max - (this.#factory === null ? 1 : 0));
  }

  /** Where it connects to, without the password. */
  get address(): string {
    return this.#address ?? this.#work.address;
  }

  /** Whether statements in users' transactions are prepared: null leaves it to the client. */
  get prepare(): boolean | null {
    return this.#pinned ? this.#prepare : false;
  }

  /** The pool on which users' statements run. */
  get work(): Client<Tx> {
    return this.#work;
  }

  /** Claims, settlements and renewals: single statements on connections whose plans are fixed, if that can be had. */
  async hot(what: string, statement: Statement, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    if (this.#factory === null) return await this.cold(what, statement, parameters);
    const pinned = this.#pinned;
    const relay = this.#relay ??= this.#make({ max: RELAY_CONNECTIONS, ...(pinned ? { options: PINNED } : {}) });
    try {
      const rows = relay.run(statement, parameters, pinned && this.#prepare !== false);
      rows.catch(() => {});
      if (!await settlesWithin(rows, this.deadlineMs)) throw new NoAnswer();
      return await rows;
    } catch (error) {
      if (pinned && isStartupRefusal(error)) {
        this.#unpin(relay);
        return await this.hot(what, statement, parameters);
      }
      if (isConnectionLoss(error)) this.#drop(relay);
      throw this.explained(what, error);
    }
  }

  /** Everything else that is one statement. Unprepared: it is rare, or its plan depends on what the table holds. */
  async cold(what: string, statement: Statement, parameters: readonly Parameter[]): Promise<readonly Row[]> {
    try {
      return await this.#work.run(statement, parameters, false);
    } catch (error) {
      throw this.explained(what, error);
    }
  }

  /** A transaction on the work pool. A pool that lost one is replaced, since a driver may have lost the slot with it. */
  async transaction<R>(work: (tx: Begun<Tx>) => Promise<R>): Promise<R> {
    const pool = this.#work;
    try {
      return await pool.transaction(work);
    } catch (error) {
      if (isConnectionLoss(error)) this.lost(pool);
      throw error;
    }
  }

  /** Listens until the signal aborts or the connection ends; a pool that is replaced does not take it along. */
  async listen(
    channel: string,
    heard: (payload: string) => void,
    listening: () => void,
    signal: AbortSignal,
  ): Promise<void> {
    if (this.#factory === null) return await this.#work.listen(channel, heard, listening, signal);
    const own = this.#make({ max: 1 });
    try {
      await own.listen(channel, heard, listening, signal);
    } finally {
      await own.end(2).catch(() => {});
    }
  }

  /** The error as callers shall see it. */
  explained(what: string, error: unknown): unknown {
    return isConnectionLoss(error) ? new DatabaseUnreachable(what, this.address, error) : error;
  }

  /** Closes what this storage opened. */
  async close(): Promise<void> {
    if (this.#factory === null) return;
    await Promise.allSettled([this.#work.end(2), this.#relay?.end(2)]);
  }

  #make(options: { max: number; options?: string }): Client<Tx> {
    const made = this.#factory!(options);
    startWith(made, options.options);
    const client = fit<Tx>(made);
    if (client === null) {
      throw new TypeError("Cannot use the client that the factory made: expected a Sql of postgres.js or a Pool of pg");
    }
    return client;
  }

  /** What refuses start-up options is a pooler, which cannot keep prepared statements either. */
  #unpin(relay: Client<Tx>): void {
    if (this.#pinned) {
      const { address } = this;
      log.warn("{address} refuses start-up options, as a pooler does; claims run unprepared, with plans not fixed", {
        address,
      });
    }
    this.#pinned = false;
    this.#drop(relay);
  }

  #drop(relay: Client<Tx>): void {
    if (this.#relay !== relay) return;
    this.#relay = null;
    relay.end(2).catch(() => {});
  }

  /** A connection of this pool was lost: the others probably too, and a driver may lose the slot with it. */
  lost(pool: Client<Tx>): void {
    const now = performance.now();
    if (this.#factory === null || this.#work !== pool || now - this.#replacedAt < 1000) return;
    this.#replacedAt = now;
    this.#work = this.#make({ max: WORK_CONNECTIONS });
    pool.end().catch(() => {});
  }
}

/** A connection that is open, and silent. */
export class NoAnswer extends Error {
  readonly code = "ETIMEDOUT";

  constructor() {
    super("The server did not answer in time");
  }
}

/** Poolers know no start-up options (08P01 and the like); a server that has lost none of its settings takes them. */
function isStartupRefusal(error: unknown): boolean {
  const text = error instanceof Error ? error.message : "";
  return /startup parameter|unrecognized configuration parameter|permission denied to set parameter/i.test(text);
}

/** A session that runs on whichever connection is meant for it. */
export function sessionOf(connections: Connections<unknown>, what: string): Session {
  return { run: (statement, parameters) => connections.cold(what, statement, parameters) };
}
