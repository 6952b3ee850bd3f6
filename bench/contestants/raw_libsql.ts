import { createClient, type Row } from "@libsql/client";
import { jobOf } from "../harness/job.ts";
import { check } from "../harness/question.ts";
import { checkEffects, openTables } from "../harness/tables.ts";
import { drainBatches, handle, type Raw, RAW_BATCH } from "./raw.ts";

/** Takes the next batch. */
export const CLAIM =
  `update q set state = 1 where id in (select id from q where state = 0 order by id limit ${RAW_BATCH})
  returning id, payload`;

/** Settles the rows with these ids, which stay. */
export const SETTLE = "update q set state = 2 where id in (select value from json_each(?)) and state = 1";

/** Raw SQL over @libsql/client: one UPDATE for each batch, or a transaction for each row. Settled rows stay. */
export function rawLibsql(url: string): Raw {
  const client = createClient({ url });

  async function writeOne(row: Row): Promise<void> {
    const { id, note } = JSON.parse(String(row.payload));
    const tx = await client.transaction("write");
    await tx.execute({ sql: "insert into effect values (?, ?)", args: [id, note] });
    await tx.execute({ sql: "update q set state = 2 where id = ? and state = 1", args: [row.id!] });
    await tx.commit();
  }

  const claim = async () => (await client.execute(CLAIM)).rows;

  return {
    create: () =>
      client.executeMultiple(`
        pragma journal_mode = wal;
        create table q (id integer primary key, state integer not null default 0, payload text not null);
        create index q_due on q (id) where state = 0`),
    async seed(n) {
      for (let i = 0; i < n; i += 1000) {
        const jobs = Array.from({ length: Math.min(1000, n - i) }, (_, j) => JSON.stringify(jobOf(i + j)));
        const sql = "insert into q (payload) select value from json_each(?)";
        await client.execute({ sql, args: [JSON.stringify(jobs)] });
      }
    },
    drain: (n) =>
      drainBatches(n, claim, async (rows) => {
        await Promise.all(rows.map((row) => handle(JSON.parse(String(row.payload)))));
        await client.execute({ sql: SETTLE, args: [JSON.stringify(rows.map((row) => Number(row.id)))] });
      }),
    async drainWriting(n) {
      const seconds = await drainBatches(n, claim, async (rows) => {
        for (const row of rows) await writeOne(row);
      });
      await checkEffects(url, n);
      return seconds;
    },
    async check(n) {
      await using tables = openTables(url);
      const [settled] = await tables.numbers("select count(*) from q where state = 2");
      check(settled === n, `${settled} of ${n} rows are settled`);
    },
    [Symbol.asyncDispose]: () => Promise.resolve(client.close()),
  };
}
