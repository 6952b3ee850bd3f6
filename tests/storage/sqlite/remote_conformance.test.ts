import { describe } from "node:test";
import { type Client, createClient, type Transaction } from "@libsql/client";
import { libsqlStorage } from "../../../src/storage/sqlite/mod.ts";
import type { OpenDatabase, StorageHarness } from "../../suite/storage/harness.ts";
import { storageSuite } from "../../suite/storage/suite.ts";
import { temporaryFile } from "../../support/databases.ts";
import { startHrana } from "../../support/hrana_server.ts";

const tables = ["events", "deliveries", "receivers", "receiver_successes", "notes"];

const behindServer: StorageHarness = {
  name: "libSQL behind a server",
  open: async (): Promise<OpenDatabase> => {
    const file = temporaryFile();
    const server = await startHrana(file.path);
    // All through the server: another SQLite library in this process would not see the server's locks on the file.
    const [client, other, aside] = [0, 1, 2].map(() => createClient({ url: server.url })) as [Client, Client, Client];
    const [storage, second] = [libsqlStorage(client), libsqlStorage(other)];
    const table = (name: string) => `"owed_${name}"`;
    return {
      storage,
      second,
      client,
      table,
      query: async (sql) => (await aside.execute(sql)).rows,
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
      nextDeliveryId: async (id) => {
        await aside.execute(`delete from sqlite_sequence where name = 'owed_deliveries'`);
        await aside.execute(`insert into sqlite_sequence (name, seq) values ('owed_deliveries', ${id - 1n})`);
      },
      clear: () => aside.executeMultiple(tables.map((name) => `delete from ${table(name)};`).join(" ")),
      [Symbol.asyncDispose]: async () => {
        for (const each of [storage, second]) await each.close();
        for (const each of [client, other, aside]) each.close();
        await server[Symbol.asyncDispose]();
        await file[Symbol.asyncDispose]();
      },
    };
  },
  skip: [{
    reason: "one writer: while a transaction is open, whatever writes waits for its end",
    tests: [
      "claim races: a late commit with a lower id is found",
      "claim races: passes by rows that a transaction has locked",
      "settle: a locked row answers busy without waiting, and can be settled later",
      "settle: a row that a thief's transaction has locked is not answered already or gone",
      "settleWithin: keeps others from the row while the transaction is open",
      "renew: a row that a transaction has locked is passed by",
      "reopen races: a receiver's open transaction is neither waited for nor disturbed",
    ],
  }, {
    reason: "nothing but the client tells that two of them reach one database; the poll finds the work",
    tests: ["wake: is heard by other processes", "wake: waits for no transaction and holds none up"],
  }],
};

describe(behindServer.name, () => storageSuite(behindServer));
