import { createClient } from "@libsql/client";
import postgres from "postgres";
import { jobOf } from "../harness/job.ts";
import { CLAIM, rawLibsql, SETTLE } from "./raw_libsql.ts";
import { claimRaw, rawPostgres, settleRaw } from "./raw_postgres.ts";
import { Arrivals, type Waking } from "./waking.ts";

/** LISTEN, and NOTIFY inside the transaction. */
export async function latencyRawPostgres(url: string): Promise<Waking> {
  await using raw = rawPostgres(url);
  await raw.create();
  const arrivals = new Arrivals();
  const options = { max: 4, onnotice: () => {} };
  const [worker, firing] = [postgres(url, options), postgres(url, options)];
  await worker.listen("q", async () => {
    const rows = await claimRaw(worker);
    for (const row of rows) arrivals.arrived(row.payload.id);
    if (rows.length > 0) await settleRaw(worker, rows);
  });
  return {
    async fireOne(id) {
      const job = jobOf(id);
      await firing.begin(async (tx) => {
        await tx`insert into biz values (${job.id}, ${job.note})`;
        await tx`with i as (insert into q (receiver, payload) values ('r', ${tx.json(job as never)}))
          select pg_notify('q', '')`;
      });
      const committed = performance.now();
      return await arrivals.of(id) - committed;
    },
    async [Symbol.asyncDispose]() {
      await using raw = rawPostgres(url);
      await Promise.all([worker.end(), firing.end()]);
      await raw.check(0);
    },
  };
}

/** A call in the same process after the commit. */
export async function latencyRawLibsql(url: string): Promise<Waking> {
  await using raw = rawLibsql(url);
  await raw.create();
  const arrivals = new Arrivals();
  const client = createClient({ url });
  let received = 0;

  async function wake(): Promise<void> {
    const { rows } = await client.execute(CLAIM);
    for (const row of rows) arrivals.arrived(JSON.parse(String(row.payload)).id);
    await client.execute({ sql: SETTLE, args: [JSON.stringify(rows.map((row) => Number(row.id)))] });
    received += rows.length;
  }

  return {
    async fireOne(id) {
      const job = jobOf(id);
      const tx = await client.transaction("write");
      await tx.execute({ sql: "insert into biz values (?, ?)", args: [job.id, job.note] });
      await tx.execute({ sql: "insert into q (payload) values (?)", args: [JSON.stringify(job)] });
      await tx.commit();
      const committed = performance.now();
      const woken = wake();
      const arrived = await arrivals.of(id);
      await woken;
      return arrived - committed;
    },
    async [Symbol.asyncDispose]() {
      client.close();
      await using raw = rawLibsql(url);
      await raw.check(received);
    },
  };
}
