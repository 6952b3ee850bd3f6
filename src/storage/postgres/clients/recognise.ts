import type { Client, Joined } from "./client.ts";
import { fitPg, isIdlePgConnection, isPgConnection, isPgPool, joinPg, type PgPool, startPgWith } from "./pg.ts";
import {
  fitPostgresJs,
  isPostgresJsClient,
  isPostgresJsTransaction,
  joinPostgresJs,
  type PostgresJsClient,
  startPostgresJsWith,
} from "./postgresjs.ts";

/** A client of a driver that is known here. */
export type KnownClient<Tx> = PostgresJsClient<Tx> | PgPool<Tx>;

/** Makes a client with its own connections; both options are meant for the driver. */
export type Factory<Tx> = (options: { max: number; options?: string }) => KnownClient<Tx>;

/** What a storage is made from. */
export type Source<Tx> = KnownClient<Tx> | Factory<Tx>;

/** Fits a client by its shape; null when it is none. */
export function fit<Tx>(source: unknown): Client<Tx> | null {
  if (isPostgresJsClient(source)) return fitPostgresJs(source as unknown as PostgresJsClient<Tx>);
  if (isPgPool(source)) return fitPg(source as unknown as PgPool<Tx>);
  return null;
}

/** Sets up a client that a factory made and that has not connected yet. */
export function startWith(client: unknown, options: string | undefined): void {
  if (isPostgresJsClient(client)) startPostgresJsWith(client as unknown as PostgresJsClient<never>, options);
  else if (isPgPool(client)) startPgWith(client as unknown as PgPool<never>, options);
}

/**
 * Fits an open transaction by its shape.
 *
 * @throws {TypeError} when it is none.
 */
export function joined<Tx>(client: unknown): Joined<Tx> {
  if (isPostgresJsTransaction(client)) return joinPostgresJs(client as Tx);
  if (isPgConnection(client)) {
    if (isIdlePgConnection(client)) {
      throw new TypeError("Cannot join this pg client: no transaction is open on it; await `begin` first");
    }
    return joinPg(client as Tx);
  }
  if (isPostgresJsClient(client)) {
    throw new TypeError(
      "Cannot join this postgres.js client: it is no transaction; pass what `begin` gives its callback",
    );
  }
  if (isPgPool(client)) {
    throw new TypeError("Cannot join this pg pool: it is no transaction; pass the client on which `begin` was run");
  }
  throw new TypeError(
    "Cannot join this value: expected the transaction of a driver that is known here (postgres.js or pg)",
  );
}
