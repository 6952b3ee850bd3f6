import { type Client, createClient, type Transaction } from "@libsql/client";
import postgres, { type Sql, type TransactionSql } from "postgres";
import { createOutbox, fire, receiver } from "../../mod.ts";
import { libsqlStorage } from "../../src/storage/sqlite/mod.ts";
import { jobOf } from "../harness/job.ts";
import { check } from "../harness/question.ts";
import { checkFired, type FireBy } from "./firing.ts";
import { Fired, idle, outboxAt } from "./owed.ts";

/** In transactions of the outbox, on the caller's own pool. */
export const firesOwedPostgres: FireBy = async (url, receivers, max) => {
  const sent = new Map<number, number>();
  const debug = (connection: number) => void sent.set(connection, (sent.get(connection) ?? 0) + 1);
  const counting = postgres(url, { max: 1, onnotice: () => {}, debug });
  const sql = postgres(url, { max, onnotice: () => {} });
  const outbox = outboxAt(url, idle, receivers, {}, sql);
  await outbox.storage.migrate();

  return {
    fire: (id) =>
      outbox.transaction(async (tx) => {
        const job = jobOf(id);
        await (tx.client as TransactionSql)`insert into biz values (${job.id}, ${job.note})`;
        await fire(tx, Fired(job));
      }),
    statements: () => countPostgres(url, receivers, counting, () => [...sent.values()].reduce((a, b) => a + b, 0)),
    check: (n) => checkFired(url, n, receivers, "owed."),
    async [Symbol.asyncDispose]() {
      await outbox.close();
      await Promise.all([sql.end(), counting.end()]);
    },
  };
};

async function countPostgres(url: string, receivers: number, sql: Sql, sent: () => number): Promise<number> {
  await using outbox = outboxAt(url, idle, receivers, { wake: "poll" }, sql);
  let count = NaN;
  await outbox.transaction(async (tx) => {
    await (tx.client as TransactionSql)`insert into biz values (-1, '')`;
    const before = sent();
    await fire(tx, Fired(jobOf(-1)));
    count = sent() - before;
  });
  check(count === 1, `a fire sent ${count} statements, not 1`);
  return count;
}

/** In transactions of the outbox, which holds the file's one lock meanwhile. */
export const firesOwedLibsql: FireBy = async (url, receivers) => {
  const sent = { statements: 0, calls: 0 };
  const storage = libsqlStorage(() => counted(createClient({ url }), sent));
  const list = Array.from({ length: receivers }, (_, i) => receiver(Fired, `bench.receiver${i + 1}`, idle));
  const outbox = createOutbox({ storage, receivers: list });
  await storage.migrate();

  const fireOne = (id: number) =>
    outbox.transaction(async (tx) => {
      const job = jobOf(id);
      await tx.client.execute({ sql: "insert into biz values (?, ?)", args: [job.id, job.note] });
      Object.assign(sent, { statements: 0, calls: 0 });
      await fire(tx, Fired(job));
      check(sent.calls === 1 && sent.statements <= 2, `a fire sent ${sent.statements} in ${sent.calls} calls`);
    });
  return {
    fire: fireOne,
    async statements() {
      await fireOne(-1);
      return sent.statements;
    },
    check: (n) => checkFired(url, n, receivers, "owed_"),
    [Symbol.asyncDispose]: () => outbox.close(),
  };
};

/** The client with a counter on what its transactions are told to run. */
function counted(client: Client, sent: { statements: number; calls: number }): Client {
  const countedTransaction = (tx: Transaction) =>
    over(tx, {
      execute: (statement: never) => (sent.calls++, sent.statements++, tx.execute(statement)),
      batch: (statements: never[]) => (sent.calls++, sent.statements += statements.length, tx.batch(statements)),
    });
  return over(client, { transaction: async (mode: "write") => countedTransaction(await client.transaction(mode)) });
}

function over<T extends object>(target: T, methods: Record<string, unknown>): T {
  return new Proxy(target, {
    get(_, property) {
      const value = methods[String(property)] ?? Reflect.get(target, property, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
