import type { Client } from "@libsql/client";
import type { TransactionSql } from "postgres";
import { fire, runRelay } from "../../mod.ts";
import { jobOf } from "../harness/job.ts";
import { check } from "../harness/question.ts";
import { checkOwed, Fired, idle, outboxAt } from "./owed.ts";
import { Arrivals, type Waking } from "./waking.ts";

/** A relay and a firing outbox, each with connections of its own. */
export async function latencyOwed(url: string): Promise<Waking> {
  const arrivals = new Arrivals();
  const relayed = outboxAt(url, (job) => Promise.resolve(arrivals.arrived(job.id)));
  await relayed.storage.migrate();
  const firing = outboxAt(url, idle);
  const stop = new AbortController();
  const ready = Promise.withResolvers<void>();
  const relay = runRelay(relayed, { signal: stop.signal, onReady: ready.resolve });
  relay.catch(ready.reject);
  await ready.promise;
  let fired = 0;

  return {
    async fireOne(id) {
      const job = jobOf(id);
      fired += 1;
      await firing.transaction(async (tx) => {
        await writeBusinessRow(tx.client, job.id, job.note);
        await fire(tx, Fired(job));
      });
      const committed = performance.now();
      return await arrivals.of(id) - committed;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      const counts = await relay;
      await Promise.all([relayed.close(), firing.close()]);
      check(counts.succeeded === fired, `owed counts ${JSON.stringify(counts)} of ${fired}`);
      await checkOwed(url, fired);
    },
  };
}

async function writeBusinessRow(client: unknown, id: number, note: string): Promise<void> {
  if (typeof client === "function") await (client as TransactionSql)`insert into biz values (${id}, ${note})`;
  else await (client as Client).execute({ sql: "insert into biz values (?, ?)", args: [id, note] });
}
