import { createClient } from "@libsql/client";
import postgres from "postgres";
import { uuidv7 } from "../../src/uuid.ts";
import { jobOf } from "../harness/job.ts";
import { check } from "../harness/question.ts";
import { openTables } from "../harness/tables.ts";
import { checkFired, type FireBy } from "./firing.ts";
import { storageAt } from "./owed.ts";
import { QUEUE } from "./raw_postgres.ts";

/** The rows that owed would write, by a statement made for just this event. */
export const firesRawPostgres: FireBy = async (url, receivers, max) => {
  const sql = postgres(url, { max, onnotice: () => {} });
  await migrate(url);
  return {
    fire: (id) =>
      sql.begin(async (tx) => {
        const job = jobOf(id);
        await tx`insert into biz values (${job.id}, ${job.note})`;
        const event = uuidv7();
        await tx`
          with e as (
            insert into owed.events (id, recorded_at, occurred_at, version, name, payload)
            values (${event}, statement_timestamp(), statement_timestamp(), 1, 'bench.fired', ${
          JSON.stringify(job)
        }::text::json))
          insert into owed.deliveries (event_id, available_at, owed_since, max_attempts, receiver_key)
          select ${event}::uuid, statement_timestamp(), statement_timestamp(), 5, 'bench.receiver' || i
          from generate_series(1, ${receivers}::int) i`;
      }) as Promise<void>,
    check: (n) => checkFired(url, n, receivers, "owed."),
    [Symbol.asyncDispose]: () => sql.end(),
  };
};

/** The least that a queue could write: a narrow row for each receiver, with the payload in each. */
export const firesQueuePostgres: FireBy = async (url, receivers, max) => {
  const sql = postgres(url, { max, onnotice: () => {} });
  await using tables = openTables(url);
  await tables.run(QUEUE);
  return {
    fire: (id) =>
      sql.begin(async (tx) => {
        const job = jobOf(id);
        await tx`insert into biz values (${job.id}, ${job.note})`;
        await tx`insert into q (receiver, payload)
          select 'r' || i, ${tx.json(job as never)} from generate_series(1, ${receivers}::int) i`;
      }) as Promise<void>,
    async check(n) {
      const [row] = await sql`select count(*)::int as n from q`;
      check(row!.n === n * receivers, `${row!.n} rows of ${n * receivers}`);
    },
    [Symbol.asyncDispose]: () => sql.end(),
  };
};

/** The rows that owed would write, in one batch of two statements. */
export const firesRawLibsql: FireBy = async (url, receivers) => {
  await migrate(url);
  const client = createClient({ url });
  const now = () => BigInt(Date.now()) * 1000n;
  return {
    async fire(id) {
      const job = jobOf(id);
      const tx = await client.transaction("write");
      await tx.execute({ sql: "insert into biz values (?, ?)", args: [job.id, job.note] });
      const [event, at] = [uuidv7(), now()];
      const values = Array.from({ length: receivers }, (_, i) => `(?1, 'bench.receiver${i + 1}', '', x'', 5, ?2, ?2)`);
      await tx.batch([
        {
          sql: `insert into owed_events (id, name, version, payload, occurred_at, recorded_at)
            values (?1, 'bench.fired', 1, ?3, ?2, ?2)`,
          args: [event, at, JSON.stringify(job)],
        },
        {
          sql: `insert into owed_deliveries
            (event_id, receiver_key, target, target_digest, max_attempts, available_at, owed_since) values ${values}`,
          args: [event, at],
        },
      ]);
      await tx.commit();
    },
    check: (n) => checkFired(url, n, receivers, "owed_"),
    [Symbol.asyncDispose]: () => Promise.resolve(client.close()),
  };
};

async function migrate(url: string): Promise<void> {
  const storage = storageAt(url);
  await storage.migrate();
  await storage.close();
}
