import { describe } from "node:test";
import { Pool, type PoolClient } from "pg";
import postgres, { type Sql, type TransactionSql } from "postgres";
import { postgresStorage } from "../../src/storage/postgres/mod.ts";
import type { Storage } from "../../src/storage/storage.ts";
import type { OpenDatabase, Row } from "../suite/storage/harness.ts";
import { storageSuite } from "../suite/storage/suite.ts";
import { freshSchema, postgresUrls } from "../support/databases.ts";

/** A way to connect: a storage over it, and a client of the user's own beside it. */
interface Driver {
  readonly client: unknown;
  storage(schema: string): Storage;
  execute(client: unknown, sql: string): Promise<Row[]>;
  begin: OpenDatabase["begin"];
  end(): Promise<void>;
}

const quiet = { onnotice: () => {} };

/** postgres.js; the storage opens its own connections where it is given `ofItsOwn`. */
function postgresJs(url: string, options: postgres.Options<Record<string, never>>, ofItsOwn: boolean): Driver {
  const sql: Sql = postgres(url, { ...quiet, ...options });
  return {
    client: sql,
    storage: (schema) =>
      postgresStorage(ofItsOwn ? (more) => postgres(url, { ...quiet, ...options, ...more }) : sql, { schema }),
    execute: async (tx, text) => await (tx as TransactionSql).unsafe(text),
    begin: async <R>(work: (client: unknown) => Promise<R>) => (await sql.begin(work)) as R,
    end: () => sql.end({ timeout: 1 }),
  };
}

function pg(url: string): Driver {
  const pool = new Pool({ connectionString: url, max: 8 });
  const execute = async (client: unknown, text: string) => (await (client as PoolClient).query(text)).rows;
  return {
    client: pool,
    storage: (schema) => postgresStorage(pool, { schema }),
    execute,
    begin: async (work) => {
      const client = await pool.connect();
      try {
        await client.query("begin");
        const result = await work(client);
        await client.query("commit");
        return result;
      } catch (error) {
        await client.query("rollback");
        throw error;
      } finally {
        client.release();
      }
    },
    end: () => pool.end(),
  };
}

async function open(url: string, connect: (url: string) => Driver): Promise<OpenDatabase> {
  const place = await freshSchema(url);
  const [first, other] = [connect(url), connect(url)];
  const [storage, second] = [first.storage(place.schema), other.storage(place.schema)];
  const table = (name: string) => `${place.schema}.${name}`;
  const query = async (text: string) => [...await place.sql.unsafe(text)];
  const tables = ["events", "deliveries", "history", "receivers", "receiver_successes", "notes"];
  return {
    storage,
    second,
    client: first.client,
    table,
    query,
    execute: first.execute,
    sleep: "select pg_sleep(60)",
    begin: first.begin,
    nextDeliveryId: async (id) => {
      await query(`alter table ${table("deliveries")} alter column id restart with ${id}`);
    },
    clear: async () => {
      await query(tables.map((name) => `delete from ${table(name)};`).join(" "));
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([storage.close(), second.close()]);
      await Promise.all([first.end(), other.end()]);
      await place[Symbol.asyncDispose]();
    },
  };
}

const drivers: Record<string, (url: string) => Driver> = {
  "postgres.js, prepared, by factory": (url) => postgresJs(url, { max: 8 }, true),
  "postgres.js, unprepared": (url) => postgresJs(url, { max: 8, prepare: false }, false),
  "pg": pg,
};

for (const { version, url } of postgresUrls()) {
  for (const [name, connect] of Object.entries(drivers)) {
    const harness = { name: `Postgres ${version} with ${name}`, open: () => open(url, connect) };
    describe(harness.name, () => storageSuite(harness));
  }
}
