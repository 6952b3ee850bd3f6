import process from "node:process";
import { DatabaseUnreachable } from "../errors.ts";
import { libsqlStorage } from "../storage/sqlite/mod.ts";
import { type PostgresClientOptions, postgresStorage } from "../storage/postgres/mod.ts";
import type { Storage } from "../storage/storage.ts";
import { Misused } from "./exit_codes.ts";

const EXPECTED = "postgres://user@host/database, file:path.db, :memory:, libsql://host, http(s)://host or ws(s)://host";
/** The file in the working directory that serves when no database is named. */
const EMBEDDED = "file:owed.db";

/** A storage that the command made, and what it may do with it unasked. */
export interface OpenedStorage {
  readonly storage: Storage;
  /** Where it is, without secrets. */
  readonly address: string;
  /** Whether it is the embedded default or in memory; a database that somebody configured is never migrated unasked. */
  readonly migratesItself: boolean;
  /** Whether nobody named a database. */
  readonly isDefault: boolean;
}

/**
 * Opens the database that `DATABASE_URL` names, or a libSQL file in the working directory. Connects to nothing yet.
 *
 * @throws {Misused} when the URL is none that is known here; never shows more of it than its scheme
 */
export async function openStorage(configured: string = process.env.DATABASE_URL ?? ""): Promise<OpenedStorage> {
  const url = configured || EMBEDDED;
  return {
    storage: await open(url),
    address: withoutSecrets(url),
    migratesItself: configured === "" || configured === ":memory:",
    isDefault: configured === "",
  };
}

async function open(url: string): Promise<Storage> {
  if (url === ":memory:") return await openLibsql(url);
  const [scheme] = /^[a-z][a-z+.-]*:/i.exec(url) ?? [];
  switch (scheme?.toLowerCase()) {
    case "postgres:":
    case "postgresql:":
      return await openPostgres(url);
    case "file:":
    case "libsql:":
    case "http:":
    case "https:":
    case "ws:":
    case "wss:":
      return await openLibsql(url);
  }
  const got = scheme === undefined ? "something that does not begin with a scheme" : `"${scheme}"`;
  throw new Misused(`Cannot use DATABASE_URL: expected ${EXPECTED}, got ${got}`);
}

async function openPostgres(url: string): Promise<Storage> {
  requireParsable(url);
  const { default: postgres } = await import("postgres");
  const schema = process.env.OWED_SCHEMA;
  const connect = ({ max, options }: PostgresClientOptions) =>
    postgres(url, {
      max,
      connect_timeout: 10,
      // Receivers may send arrays, for which the driver has to know the types; the relay's own statements send none.
      fetch_types: options === undefined,
      connection: { application_name: "owed relay", ...(options === undefined ? {} : { options }) },
      onnotice: () => {},
    });
  return named("OWED_SCHEMA", () => postgresStorage(connect, schema ? { schema } : {}));
}

async function openLibsql(url: string): Promise<Storage> {
  if (url.includes("://")) requireParsable(url);
  const { createClient } = await import("@libsql/client");
  const address = withoutSecrets(url);
  const connect = () => {
    try {
      return createClient({ url });
    } catch (error) {
      // Its message may show the URL with its token.
      const { code } = error as { code?: unknown };
      if (!String(code).startsWith("URL_")) throw new DatabaseUnreachable("open", address, error);
      throw new Misused(`Cannot use DATABASE_URL: libSQL does not take this URL of ${address} (${code})`);
    }
  };
  const prefix = process.env.OWED_PREFIX;
  return named("OWED_PREFIX", () => libsqlStorage(connect, { address, ...(prefix ? { prefix } : {}) }));
}

/** What a storage refuses of its options came from a variable. */
function named(variable: string, make: () => Storage): Storage {
  try {
    return make();
  } catch (error) {
    throw new Misused(`Cannot use ${variable}: ${(error as Error).message}`);
  }
}

function requireParsable(url: string): void {
  if (URL.canParse(url)) return;
  throw new Misused(
    "Cannot use DATABASE_URL: it is no valid URL; write special characters of its password in percent encoding",
  );
}

/** The URL without its password and its query, which holds libSQL's token. */
export function withoutSecrets(url: string): string {
  const bare = url.replace(/[?#].*$/s, "");
  // A password may hold an "@" too: the last one counts.
  return bare.replace(/^([a-z]+:\/\/)(?:([^:@/]*)[^/]*@)?/i, (_, scheme, user) => scheme + (user ? `${user}@` : ""));
}
