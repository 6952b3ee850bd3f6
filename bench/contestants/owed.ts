import { createClient } from "@libsql/client";
import postgres, { type Sql, type TransactionSql } from "postgres";
import {
  createOutbox,
  type DeliveryContext,
  event,
  fireAll,
  type Outbox,
  type Receiver,
  receiver,
  runRelay,
  type Settings,
  type Storage,
} from "../../mod.ts";
import { libsqlStorage } from "../../src/storage/sqlite/mod.ts";
import { postgresStorage } from "../../src/storage/postgres/mod.ts";
import { check, type Figures } from "../harness/question.ts";
import { type Job, jobOf } from "../harness/job.ts";
import { openTables } from "../harness/tables.ts";

export const Fired = event<Job>("bench.fired");

// deno-lint-ignore no-explicit-any -- a bench serves whichever driver the URL names
type AnyClient = any;

/** What a receiver of the bench does. */
export type Handler = (job: Job, ctx: DeliveryContext<AnyClient>) => Promise<void>;

const isPostgres = (url: string) => url.startsWith("postgres:");

/** The storage over connections of its own, as a relay has it; or over the caller's client, as a web process has it. */
export function storageAt(url: string, client?: Sql): Storage<AnyClient> {
  if (!isPostgres(url)) return libsqlStorage(() => createClient({ url }));
  return client ? postgresStorage(client) : postgresStorage((options) => postgres(url, { ...options, onnotice() {} }));
}

/** An outbox whose one event has this many receivers. */
export function outboxAt(url: string, handler: Handler, receivers = 1, settings: Settings = {}, client?: Sql): Outbox {
  const list = Array.from({ length: receivers }, (_, i) => receiver(Fired, `bench.receiver${i + 1}`, handler));
  return createOutbox({ storage: storageAt(url, client), receivers: list as Receiver<AnyClient>[], settings });
}

/** Fires so many events that nobody delivers yet. */
export async function seedOwed(url: string, n: number): Promise<void> {
  await using outbox = outboxAt(url, idle, 1, { wake: "poll" });
  await outbox.storage.migrate();
  for (let i = 0; i < n; i += 1000) {
    const events = Array.from({ length: Math.min(1000, n - i) }, (_, j) => Fired(jobOf(i + j)));
    await outbox.transaction((tx) => fireAll(tx, events));
  }
}

/** Runs a relay until it has delivered n rows. The clock runs from the first receiver to the last record. */
export async function drainOwed(url: string, n: number, batchSize: number, work: Handler = idle): Promise<Figures> {
  let startedAt = 0;
  let done = 0;
  const stop = new AbortController();
  await using outbox = outboxAt(url, async (job, ctx) => {
    startedAt ||= performance.now();
    await work(job, ctx);
    if (++done === n) stop.abort();
  });
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(300_000)]);
  const counts = await runRelay(outbox, { signal, batchSize });
  const seconds = (performance.now() - startedAt) / 1000;
  check(counts.succeeded === n && done === n, `owed counts ${JSON.stringify(counts)} of ${n}, ${done} ran`);
  await checkOwed(url, n);
  return { "per second": n / seconds };
}

/** Every delivery succeeded, in one attempt, and is there once. */
export async function checkOwed(url: string, n: number): Promise<void> {
  const table = isPostgres(url) ? "owed.every_delivery" : "owed_deliveries";
  await using tables = openTables(url);
  const [all, ids, right] = await tables.numbers(
    `select count(*), count(distinct id), sum(case when status = 'succeeded' and attempts = 1 then 1 else 0 end)
     from ${table}`,
  );
  check(all === n && ids === n && right === n, `${all} deliveries, ${ids} ids, ${right} succeeded once, of ${n}`);
}

/** Writes one row in the transaction that carries the acknowledgement. */
export async function writeEffect({ id, note }: Job, ctx: DeliveryContext<AnyClient>): Promise<void> {
  const { client } = await ctx.transaction();
  if (typeof client === "function") await (client as TransactionSql)`insert into effect values (${id}, ${note})`;
  else await client.execute({ sql: "insert into effect values (?, ?)", args: [id, note] });
}

export async function idle(): Promise<void> {}
