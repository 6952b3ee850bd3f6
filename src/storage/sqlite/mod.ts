/**
 * The outbox on libSQL and SQLite: in memory, in a file, or on a server by URL.
 *
 * @example An outbox in a file
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const storage = libsqlStorage(() => createClient({ url: "file:shop.db" }));
 * await storage.migrate();
 * await storage.close();
 * ```
 *
 * @module
 */
import type { Storage } from "../storage.ts";
import { Libsql, type LibsqlClient, type LibsqlTransaction } from "./clients/libsql.ts";
import { Database } from "./database.ts";
import { SqliteStorage } from "./storage.ts";

export type { LibsqlClient, LibsqlResult, LibsqlStatement, LibsqlTransaction } from "./clients/libsql.ts";

/** What `libsqlStorage` may be told. */
export interface LibsqlStorageOptions {
  /** Begins the names of all tables and indexes. Letters, digits and underscores. Default: `"owed_"`. */
  readonly prefix?: string;
  /** Where the database is, for messages alone; a file's path is found without. Give it without its token. */
  readonly address?: string;
}

/**
 * Keeps an outbox in a libSQL database.
 *
 * `source` is a client of `@libsql/client`, which stays the caller's to close, or a function that makes one, which is
 * called at first use and whose client is closed by `close()`. A database in memory is migrated by itself; any other
 * by `migrate()`. A file is put into write-ahead mode at first use.
 *
 * SQLite has one writer, so every write of this process takes its turn in one queue per file, and waits for other
 * processes without blocking the event loop. Code of yours that writes through the same client while a receiver's
 * transaction is open may meet `SQLITE_BUSY`: let it write through the outbox's transactions, or inside `joining`.
 *
 * @throws {TypeError} when the prefix cannot be used, or `source` is neither a client nor a function
 *
 * @example With a client of your own
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { libsqlStorage } from "@owed/outbox/libsql";
 *
 * const client = createClient({ url: ":memory:" });
 * const storage = libsqlStorage(client, { prefix: "shop_outbox_" });
 * await storage.health();
 * await storage.close();
 * client.close();
 * ```
 */
export function libsqlStorage<Tx extends LibsqlTransaction>(
  source: LibsqlClient<Tx> | (() => LibsqlClient<Tx>),
  options: LibsqlStorageOptions = {},
): Storage<Tx> {
  const { prefix = "owed_", address } = options;
  const isFactory = typeof source === "function";
  if (!isFactory && !isClient(source)) {
    throw new TypeError("Cannot use this as a libSQL client: expected what createClient() returns, or a function");
  }
  const makeClient = (lock: string) => new Libsql<Tx>(isFactory ? source() : source, lock);
  const database = new Database<Tx>(makeClient, { prefix, storage: "libSQL", address });
  // Whether it is in memory decides `maxConcurrency`, and takes a turn of the event loop to find out. Not over a
  // network, and not before a factory is asked for its client; a failure shows again at first use.
  if (!isFactory && source.protocol === "file") database.locate().catch(() => {});
  return new SqliteStorage<Tx>("libSQL", database, isFactory);
}

function isClient(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["execute", "batch", "transaction", "executeMultiple"].every((name) =>
    typeof (value as Record<string, unknown>)[name] === "function"
  );
}
