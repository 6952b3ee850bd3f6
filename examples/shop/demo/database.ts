/** A database that is gone when the demo is over: a libSQL file, or a schema of its own on your Postgres. */
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Storage } from "@owed/outbox";
import { type Sql, sqlIn } from "../sql.ts";

export interface DemoDatabase extends AsyncDisposable {
  readonly title: string;
  /** For {@linkcode openStorage}, here and in the relays. */
  readonly env: Environment;
  /** Reads outside of any transaction: what everybody else sees. */
  readonly sql: Sql;
  /** Why events were not delivered, as their rows say. */
  suppressions(): PromiseLike<Readonly<Record<string, unknown>>[]>;
}

type Environment = Readonly<Record<string, string | undefined>>;

const isPostgres = (url: string) => /^postgres(ql)?:/.test(url);

/** Opens the database that these variables name. The storage makes its own connections, and closes them. */
export async function openStorage(
  { DATABASE_URL: url = "", SHOP_SCHEMA: schema = "owed" }: Environment,
): Promise<Storage> {
  if (isPostgres(url)) {
    const { default: postgres } = await import("postgres");
    const { postgresStorage } = await import("@owed/outbox/postgres");
    return postgresStorage((options) => postgres(url, options), { schema });
  }
  const { createClient } = await import("@libsql/client");
  const { libsqlStorage } = await import("@owed/outbox/libsql");
  return libsqlStorage(() => createClient({ url }));
}

/** Makes a database for one run of the demo. */
export async function makeDatabase(url = ""): Promise<DemoDatabase> {
  if (url === "") return await makeFile();
  if (isPostgres(url)) return await makeSchema(url);
  throw new TypeError(
    "DATABASE_URL must be postgres://..., or absent for a new libSQL file",
  );
}

async function makeFile(): Promise<DemoDatabase> {
  const { createClient } = await import("@libsql/client");
  const folder = mkdtempSync(join(tmpdir(), "owed-shop-"));
  const url = `file:${join(folder, "shop.db")}`;
  const client = createClient({ url });
  const sql = sqlIn({ client });
  return {
    title: "libSQL, in a new file",
    env: { DATABASE_URL: url },
    sql,
    suppressions: () =>
      sql`select key, suppressed_reason as reason from owed_events where suppressed_reason is not null`,
    [Symbol.asyncDispose]: () => {
      client.close();
      return Promise.resolve(rmSync(folder, { recursive: true, force: true }));
    },
  };
}

async function makeSchema(server: string): Promise<DemoDatabase> {
  const { default: postgres } = await import("postgres");
  const schema = `owed_shop_${randomUUID().slice(0, 8)}`;
  const url = new URL(server);
  url.searchParams.set("search_path", schema);
  const client = postgres(url.href, { max: 1, onnotice: () => {} });
  await client`create schema ${client(schema)}`;
  const sql = sqlIn({ client });
  return {
    title: `Postgres, in a schema of its own (${schema})`,
    env: { DATABASE_URL: url.href, SHOP_SCHEMA: schema },
    sql,
    suppressions: () => sql`select key, suppressed_reason as reason from events where suppressed_reason is not null`,
    [Symbol.asyncDispose]: async () => {
      await client`drop schema ${client(schema)} cascade`;
      await client.end();
    },
  };
}
