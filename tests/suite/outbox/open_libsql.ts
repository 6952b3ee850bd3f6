import { type Client, createClient, type Transaction } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import { temporaryFile } from "../../support/databases.ts";
import type { OpenDatabase } from "../storage/harness.ts";

const tables = ["events", "deliveries", "receivers", "receiver_successes", "notes"];

/** A database in a file; `second` is a client of its own, as another process has it. */
export function openLibsqlFile(): Promise<OpenDatabase> {
  const file = temporaryFile();
  const connect = () => createClient({ url: file.url });
  return Promise.resolve(open(connect(), connect(), connect(), async () => await file[Symbol.asyncDispose]()));
}

/** A database in memory, which has one connection. */
export function openLibsqlMemory(): Promise<OpenDatabase> {
  const client = createClient({ url: ":memory:" });
  return Promise.resolve(open(client, client));
}

function open(client: Client, aside: Client, second?: Client, remove = () => Promise.resolve()): OpenDatabase {
  const storage = libsqlStorage(client);
  const other = second && libsqlStorage(second);
  // Whoever writes takes turns with what the outbox does in the background, and with one connection whoever reads too.
  const turn = <R>(work: () => Promise<R>) => storage.yielding(work);
  const free = (sql: string) => aside !== client && sql.startsWith("select");
  const table = (name: string) => `"owed_${name}"`;
  return {
    storage,
    ...(other && { second: other }),
    client,
    table,
    query: async (sql) => (await (free(sql) ? aside.execute(sql) : turn(() => aside.execute(sql)))).rows,
    execute: async (tx, sql) => (await (tx as Transaction).execute(sql)).rows,
    begin: async (work) => {
      const tx = await client.transaction("write");
      try {
        const result = await work(tx);
        await tx.commit();
        return result;
      } finally {
        tx.close();
      }
    },
    nextDeliveryId: () => Promise.reject(new Error("not needed here")),
    clear: () => turn(() => aside.executeMultiple(tables.map((name) => `delete from ${table(name)};`).join(" "))),
    [Symbol.asyncDispose]: async () => {
      for (const each of [storage, other]) await each?.close();
      for (const each of new Set([client, aside, second])) each?.close();
      await remove();
    },
  };
}
