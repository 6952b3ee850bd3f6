import { describe } from "node:test";
import { type Client, createClient, type Transaction } from "@libsql/client";
import { libsqlStorage } from "../../src/storage/sqlite/mod.ts";
import type { OpenDatabase, StorageHarness } from "../suite/storage/harness.ts";
import { storageSuite } from "../suite/storage/suite.ts";
import { temporaryFile } from "../support/databases.ts";

const tables = ["events", "deliveries", "receivers", "receiver_successes", "notes"];

/** A database; what only looks at it goes through `aside`, so that it never waits for the storage's transactions. */
function open(client: Client, aside: Client, second?: Client): OpenDatabase {
  const storage = libsqlStorage(client);
  const others = second && libsqlStorage(second);
  const table = (name: string) => `"owed_${name}"`;
  return {
    storage,
    ...(others && { second: others }),
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
      for (const each of [storage, others]) await each?.close();
      for (const each of new Set([client, aside, second])) each?.close();
    },
  };
}

const oneWriter = {
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
};

const oneThread = {
  reason: "statements run on the JavaScript thread: none can be left running",
  tests: ["acknowledge: abandon does not wait for a statement that runs on"],
};

const oneConnection = {
  reason: "one connection: nobody else can be on the database",
  tests: [
    "append: nobody sees a fire before it commits",
    "append: a key that another transaction is writing waits for its end",
    "append: two batches with the same keys in opposite order both end",
    "claim races: claims over two connections share a thousand rows",
    "claim races: of a lapsed row's holder and its thief one wins",
    "claim races: rows that are handed back while others claim are taken once each",
    "claim races: claims again and again while others fire",
    "take: of two copies of a message one takes it",
    "take: of a late message and a thief one wins",
    "take: waits for a renewal that is under way",
    "acknowledge: nobody sees the work or the success before the end",
    "acknowledge: the row is nobody else's while it is open, though the lease has lapsed",
    "acknowledge: a failure is recorded under the same lock",
    "acknowledge: abandon frees the row for a thief",
    "acknowledge: until the failure is recorded the row stays locked",
    "acknowledge: of a holder who opens and a thief one wins",
    "acknowledge: one that hangs is ended, and its row is free",
    "renew: renewals while others claim never share a row",
    "reopen races: of two at once, in whatever order, one reopens and adds",
    "reopen races: claimed rows that end meanwhile are either left or reopened",
    "reopen races: again and again while a relay pays, each life is paid once",
    "reopen races: an event that is being deleted is waited for and passed over",
    "reopen races: an event that others delete once nothing is owed goes with its debts, or stays with them",
    "announce: processes that announce at once do not block each other",
    "transactions: over two connections they all commit",
    "wake: is heard by other processes",
    "wake: waits for no transaction and holds none up",
    "migrate: two at once apply each once",
  ],
};

const migratedUnasked = {
  reason: "a database in memory is migrated at first use",
  tests: [
    "migrate: a new database lacks them all",
    "migrate: migrate applies them all, and the database works",
    "migrate: asking what is missing changes nothing",
  ],
};

const inFile: StorageHarness = {
  name: "libSQL in a file",
  open: async () => {
    const file = temporaryFile();
    const database = open(...[0, 1, 2].map(() => createClient({ url: file.url })) as [Client, Client, Client]);
    const { [Symbol.asyncDispose]: close } = database;
    await database.query("pragma journal_mode = wal");
    return { ...database, [Symbol.asyncDispose]: () => close().then(() => file[Symbol.asyncDispose]()) };
  },
  skip: [oneWriter, oneThread],
};

const inMemory: StorageHarness = {
  name: "libSQL in memory",
  open: () => {
    const client = createClient({ url: ":memory:" });
    return Promise.resolve(open(client, client));
  },
  skip: [oneWriter, oneThread, oneConnection, migratedUnasked],
};

for (const harness of [inFile, inMemory]) describe(harness.name, () => storageSuite(harness));
