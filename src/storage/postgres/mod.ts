/**
 * The outbox on Postgres 15 and later, over the client that you have: postgres.js or `pg`.
 *
 * @example Over a client of postgres.js
 * ```ts no-run
 * import postgres from "postgres";
 * import { postgresStorage } from "@owed/outbox/postgres";
 *
 * const storage = postgresStorage(postgres("postgres://localhost/shop"));
 * ```
 *
 * @module
 */
import type { Storage } from "../storage.ts";
import type { PgConnection, PgPool, PgPoolConnection } from "./clients/pg.ts";
import type { PostgresJsClient, PostgresJsQuery, PostgresJsTransaction } from "./clients/postgresjs.ts";
import { Connections } from "./connections.ts";
import { checkedSchema } from "./identifiers.ts";
import { PostgresStorage } from "./storage.ts";

export type { PgConnection, PgPool, PgPoolConnection, PostgresJsClient, PostgresJsQuery, PostgresJsTransaction };

/** How the outbox uses a Postgres database. */
export interface PostgresStorageOptions {
  /** The schema that holds the tables; `owed` unless given. At most 63 bytes; quoted wherever it is used. */
  readonly schema?: string;
  /**
   * Whether statements are prepared. Unless given, postgres.js prepares as its own option says, `pg` does not. `false`
   * is what a pooler in transaction mode needs.
   */
  readonly prepare?: boolean;
  /** What messages call the database; unless given, its address without the password. */
  readonly address?: string;
}

/** What a client's factory is asked for. Pass both on to the driver. */
export interface PostgresClientOptions {
  /** How many connections the client may open. */
  max: number;
  /** Start-up options of the session, such as `-c jit=off`. */
  options?: string;
}

/** A client of postgres.js or `pg`, whose transactions are `Tx`. */
export type PostgresClient<Tx> = PostgresJsClient<Tx> | PgPool<Tx>;

/**
 * The storage of an outbox on Postgres.
 *
 * Given a client, it shares that client with the application, which closes it. Given a function that makes clients, it
 * makes its own and closes them: one for transactions, and a small one on which claims run with fixed plans. That is
 * what a relay should have.
 *
 * @param source A `Sql` of postgres.js, a `Pool` of `pg`, or a function that makes one.
 * @throws {TypeError} when the source is neither, or an option is not what it must be.
 *
 * @example A relay of its own
 * ```ts no-run
 * import postgres from "postgres";
 * import { postgresStorage } from "@owed/outbox/postgres";
 *
 * const storage = postgresStorage((options) => postgres("postgres://localhost/shop", options), { schema: "outbox" });
 * await storage.migrate();
 * await storage.close();
 * ```
 */
export function postgresStorage<Tx>(
  source: PostgresClient<Tx> | ((options: PostgresClientOptions) => PostgresClient<Tx>),
  options: PostgresStorageOptions = {},
): Storage<Tx> {
  const schema = checkedSchema(options.schema ?? "owed");
  return new PostgresStorage(new Connections<Tx>(source, options.prepare ?? null, options.address ?? null), schema);
}
