import { Pool, type PoolClient } from "pg";
import postgres, { type TransactionSql } from "postgres";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { freshSchema } from "../../support/databases.ts";
import type { OpenDatabase, Row } from "../storage/harness.ts";

const tables = ["events", "deliveries", "history", "receivers", "receiver_successes", "notes"];

/** A way to connect: a storage over it, and a client of the user's own beside it. */
export interface Driver {
  readonly client: unknown;
  storage(schema: string): Storage;
  execute(client: unknown, sql: string): Promise<Row[]>;
  begin: OpenDatabase["begin"];
  end(): Promise<void>;
}

/** postgres.js, of which the storage makes clients of its own. */
export function postgresJs(url: string): Driver {
  const quiet = { onnotice: () => {} };
  const sql = postgres(url, { max: 4, ...quiet });
  return {
    client: sql,
    storage: (schema) => postgresStorage((options) => postgres(url, { ...quiet, ...options }), { schema }),
    execute: async (tx, text) => await (tx as TransactionSql).unsafe(text),
    begin: async <R>(work: (client: unknown) => Promise<R>) => (await sql.begin(work)) as R,
    end: () => sql.end({ timeout: 1 }),
  };
}

/** A pool of pg, shared between the storage and the user. */
export function pg(url: string): Driver {
  const pool = new Pool({ connectionString: url, max: 8 });
  return {
    client: pool,
    storage: (schema) => postgresStorage(pool, { schema }),
    execute: async (client, text) => (await (client as PoolClient).query(text)).rows,
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

/** An empty schema; `second` has connections of its own, as another process has them. */
export async function openPostgres(url: string, connect: (url: string) => Driver): Promise<OpenDatabase> {
  const place = await freshSchema(url);
  const [first, other] = [connect(url), connect(url)];
  const [storage, second] = [first.storage(place.schema), other.storage(place.schema)];
  const table = (name: string) => `${place.schema}.${name}`;
  const query = async (text: string) => [...await place.sql.unsafe(text)];
  return {
    storage,
    second,
    client: first.client,
    table,
    query,
    execute: first.execute,
    begin: first.begin,
    nextDeliveryId: () => Promise.reject(new Error("not needed here")),
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
