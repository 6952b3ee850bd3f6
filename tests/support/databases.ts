import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { env } from "node:process";
import postgres, { type Sql } from "postgres";

export interface PostgresUrl {
  /** The major version, such as 15. */
  version: number;
  url: string;
}

/** The servers to test on; loop over them, and name the version in the title of the tests. */
export function postgresUrls(): PostgresUrl[] {
  const listed = env.OWED_TEST_POSTGRES_SERVERS;
  if (listed) return JSON.parse(listed);
  throw new Error(
    "OWED_TEST_POSTGRES_SERVERS must be set, and the tasks set it: run `deno task test:deno <file>` or " +
      "`deno task test:bun <file>`, which start the servers",
  );
}

export interface FreshSchema extends AsyncDisposable {
  /** The schema's name, unique in this run; needs no quotes. */
  readonly schema: string;
  readonly url: string;
  /** A client of the test's own, closed when the schema is dropped. */
  readonly sql: Sql;
}

/** An empty schema, dropped with all it holds at the end of the `await using` scope. */
export async function freshSchema(url: string): Promise<FreshSchema> {
  const schema = `test_${randomUUID().replaceAll("-", "").slice(0, 16)}`;
  const sql = postgres(url, { max: 4, onnotice: () => {} });
  await sql`create schema ${sql(schema)}`;
  return {
    schema,
    url,
    sql,
    [Symbol.asyncDispose]: async () => {
      try {
        // A transaction that a test left open would make this wait for ever.
        await sql.begin(async (tx) => {
          await tx`set local lock_timeout = '10s'`;
          await tx`drop schema if exists ${tx(schema)} cascade`;
        });
      } finally {
        await sql.end({ timeout: 5 });
      }
    },
  };
}

export interface TemporaryFile extends AsyncDisposable {
  readonly path: string;
  /** The same as `file:` URL, for libSQL. */
  readonly url: string;
}

/** A path in a folder of its own, removed with what lies beside it (`-wal`, `-shm`) at the end of the scope. */
export function temporaryFile(name = "test.db"): TemporaryFile {
  const folder = mkdtempSync(join(tmpdir(), "owed-test-"));
  const path = join(folder, name);
  return {
    path,
    url: `file:${path}`,
    [Symbol.asyncDispose]: () => {
      rmSync(folder, { recursive: true, force: true });
      return Promise.resolve();
    },
  };
}
