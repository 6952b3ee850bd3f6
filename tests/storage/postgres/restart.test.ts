import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { it } from "node:test";
import { Pool } from "pg";
import postgres, { type TransactionSql } from "postgres";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import type { NewEvent } from "../../../src/storage/records.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { postgresUrls } from "../../support/databases.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import { takeTime, waitFor } from "../../support/wait_for.ts";

const receivers = [{ key: "a", leaseMs: 500 }, { key: "b", leaseMs: 500 }];

function event(): NewEvent {
  return {
    id: randomUUID(),
    name: "test.happened",
    version: 1,
    key: null,
    topic: null,
    payload: "{}",
    occurredAt: null,
    actor: null,
    actorLabel: null,
    scope: null,
    correlationId: null,
    causationId: null,
    trace: null,
    dedupeKey: null,
    suppressedReason: null,
    retentionSeconds: null,
    deleteWhen: null,
  };
}

async function fire(storage: Storage): Promise<void> {
  const fired = event();
  const debts = receivers.map(({ key }) => ({
    eventId: fired.id,
    receiverKey: key,
    target: "",
    maxAttempts: 5,
    orderKey: null,
    dueAt: null,
    dueInMs: null,
  }));
  await storage.transaction((tx) => storage.append(tx, [fired], debts));
}

/** One delivery in a transaction of its own, as a receiver has it. */
async function deliver(storage: Storage, say: (client: unknown, sql: string) => Promise<unknown>): Promise<void> {
  const claimed = await storage.claim({ worker: "w", receivers, limit: 4 });
  await Promise.all(claimed.map(async ({ fence }) => {
    const acknowledgement = await storage.acknowledge(fence, { timeoutMs: 5000 });
    if (acknowledgement === null) return;
    try {
      await say(acknowledgement.tx.client, `insert into effects values (${fence.id})`);
      await takeTime(5);
      await acknowledgement.finish({ kind: "succeeded" });
    } catch (error) {
      await acknowledgement.abandon();
      throw error;
    }
  }));
}

const drivers = {
  "postgres.js": {
    storage: (url: string): Storage =>
      postgresStorage((options) => postgres(url, { ...options, onnotice: () => {}, connect_timeout: 5 })),
    say: async (client: unknown, sql: string) => await (client as TransactionSql).unsafe(sql),
  },
  "pg": {
    storage: (url: string): Storage => postgresStorage((options) => new Pool({ connectionString: url, ...options })),
    say: async (client: unknown, sql: string) => await (client as { query(sql: string): Promise<unknown> }).query(sql),
  },
};

for (const [name, driver] of Object.entries(drivers)) {
  const { version } = postgresUrls()[0]!;
  it(`goes on when the server restarts under load, and does each work once: ${name}`, async () => {
    await using server = await startPostgres(version);
    const admin = postgres(server.url, { max: 1, onnotice: () => {} });
    const storage = driver.storage(server.url);
    const stop = new AbortController();
    let wakes = 0;
    let stopped = false;
    let failures = 0;
    try {
      await storage.migrate();
      await admin`create table effects (delivery bigint)`;
      await storage.listen(() => wakes++, stop.signal);
      for (let times = 0; times < 100; times++) await fire(storage);
      const loops = [1, 2, 3].map(async () => {
        while (!stopped) {
          await Promise.all([deliver(storage, driver.say), fire(storage)]).catch(() => failures++);
          await takeTime(2);
        }
      });
      for (let times = 0; times < 2; times++) {
        await takeTime(300);
        await server.stop("immediate");
        await takeTime(200);
        await server.start();
      }
      await takeTime(500);
      stopped = true;
      await Promise.all(loops);
      assert.ok(failures > 0, "the restarts were not noticed");

      await waitFor(async () => {
        await deliver(storage, driver.say).catch(() => {});
        return (await storage.health()).owed === 0;
      }, { what: "everything to be paid", timeoutMs: 30_000 });
      const query = () => admin`select count(*)::int as all, count(distinct delivery)::int as once from effects`;
      const [effects] = await query().catch(query);
      const [settled] = await admin`select count(*)::int as all from owed.history`;
      assert.deepEqual(effects, { all: settled?.all, once: settled?.all });

      const before = wakes;
      await waitFor(async () => {
        await storage.wake();
        return wakes > before;
      }, { what: "a wake to be heard again", everyMs: 100 });
    } finally {
      stopped = true;
      stop.abort();
      await storage.close();
      await admin.end({ timeout: 1 });
    }
  });
}

it("ten that migrate at once apply each migration once", async () => {
  const { version } = postgresUrls()[0]!;
  await using server = await startPostgres(version);
  const storages = Array.from({ length: 10 }, () => drivers["postgres.js"].storage(server.url));
  try {
    const applied = (await Promise.all(storages.map((storage) => storage.migrate()))).flat();
    assert.deepEqual(applied.map(({ version }) => version), storages[0]?.migrations.map(({ version }) => version));
    assert.deepEqual(await storages[0]?.pendingMigrations(), []);
  } finally {
    await Promise.all(storages.map((storage) => storage.close()));
  }
});
