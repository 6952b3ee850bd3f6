import postgres, { type Sql } from "postgres";
import { type Job, jobOf } from "../harness/job.ts";
import { check } from "../harness/question.ts";
import { checkEffects } from "../harness/tables.ts";
import { drainBatches, handle, type Raw, RAW_BATCH } from "./raw.ts";

interface Row {
  readonly id: string;
  readonly payload: Job;
}

const CONCURRENCY = 10;

/** The queue table of the raw contestant, with what it needs for a wake. */
export const QUEUE = `
  create table q (id bigint generated always as identity primary key, receiver text not null,
    state smallint not null default 0, locked_until timestamptz, payload jsonb not null);
  create index on q (id) where state = 0`;

/** Takes the next batch; a row that another claim holds is passed by. */
export async function claimRaw(sql: Sql): Promise<readonly Row[]> {
  return await sql<Row[]>`
    with c as materialized (
      select id from q where state = 0 order by id limit ${RAW_BATCH} for update skip locked)
    update q set state = 1, locked_until = now() + interval '1 minute' from c where q.id = c.id
    returning q.id, q.payload`;
}

/** One statement that deletes what is done. */
export async function settleRaw(sql: Sql, rows: readonly Row[]): Promise<void> {
  await sql`delete from q where id = any(${rows.map((row) => row.id)}::bigint[])`;
}

/** Raw SQL over postgres.js: a DELETE for each batch, or a transaction for each row. */
export function rawPostgres(url: string): Raw {
  // Above max_pipeline postgres.js sends one statement at a time.
  const options = { max: CONCURRENCY + 2, max_pipeline: 10_000, onnotice: () => {} };
  const sql = postgres(url, options);

  async function writeAll(rows: readonly Row[]): Promise<void> {
    const queue = rows.values();
    await Promise.all(Array.from({ length: CONCURRENCY }, async () => {
      for (const row of queue) await writeOne(row);
    }));
  }

  // Each statement awaited, as a user would write it.
  async function writeOne({ id, payload }: Row): Promise<void> {
    await sql.begin(async (tx) => {
      const held = await tx`select 1 from q where id = ${id} for update`;
      check(held.length === 1, `row ${id} was gone`);
      await tx`insert into effect values (${payload.id}, ${payload.note})`;
      await tx`delete from q where id = ${id}`;
    });
  }

  return {
    create: async () => void await sql.unsafe(QUEUE),
    async seed(n) {
      for (let i = 0; i < n; i += 1000) {
        const jobs = Array.from({ length: Math.min(1000, n - i) }, (_, j) => jobOf(i + j));
        await sql`insert into q (receiver, payload) select 'r', p from jsonb_array_elements(${
          sql.json([...jobs] as never)
        }) p`;
      }
    },
    drain: (n) =>
      drainBatches(n, () => claimRaw(sql), async (rows) => {
        await Promise.all(rows.map((row) => handle(row.payload)));
        await settleRaw(sql, rows);
      }),
    async drainWriting(n) {
      const seconds = await drainBatches(n, () => claimRaw(sql), writeAll);
      await checkEffects(url, n);
      return seconds;
    },
    async check() {
      const [row] = await sql`select count(*)::int as left from q`;
      check(row!.left === 0, `${row!.left} rows are left`);
    },
    [Symbol.asyncDispose]: () => sql.end(),
  };
}
