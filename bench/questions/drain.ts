import { drainOwed, idle, seedOwed, writeEffect } from "../contestants/owed.ts";
import type { Raw } from "../contestants/raw.ts";
import { rawLibsql } from "../contestants/raw_libsql.ts";
import { rawPostgres } from "../contestants/raw_postgres.ts";
import type { OpenPlace, Places } from "../harness/places.ts";
import type { Contestant, Question } from "../harness/question.ts";
import { checkEffects, createUserTables } from "../harness/tables.ts";

/** How fast a relay is through a backlog of receivers that do nothing, or that write one row each. */
export function drains(places: Places): Question[] {
  const postgres = () => places.postgres();
  const libsql = () => places.libsql();
  return [
    {
      name: "drain/postgres",
      about: "one relay, no-op receivers; owed keeps what is settled, raw deletes it",
      n: 50_000,
      contestants: [rawDrain(postgres, rawPostgres), owedDrain(postgres, 500), owedDrain(postgres, 100)],
      targets: [{ contestant: "owed, batchSize 500", figure: "per second", of: "ratio", atLeast: 0.6 }],
    },
    {
      name: "drain/libsql",
      about: "one relay, no-op receivers; both keep what is settled",
      n: 20_000,
      contestants: [rawDrain(libsql, rawLibsql), owedDrain(libsql, 500), owedDrain(libsql, 100)],
    },
    {
      name: "writing/postgres",
      about: "each receiver writes a row in ctx.transaction(), 10 at a time; raw awaits each statement",
      n: 5_000,
      contestants: [rawWriting(postgres, rawPostgres), owedWriting(postgres)],
    },
    {
      name: "writing/libsql",
      about: "each receiver writes a row in ctx.transaction(); the file has one writer",
      n: 5_000,
      contestants: [rawWriting(libsql, rawLibsql), owedWriting(libsql)],
    },
  ];
}

function rawDrain(open: OpenPlace, raw: (url: string) => Raw): Contestant {
  return { name: "raw, 500 a claim", run: (n) => runRaw(open, raw, n, (queue) => queue.drain(n)) };
}

function rawWriting(open: OpenPlace, raw: (url: string) => Raw): Contestant {
  return { name: "raw, a transaction a row", run: (n) => runRaw(open, raw, n, (queue) => queue.drainWriting(n)) };
}

async function runRaw(open: OpenPlace, raw: (url: string) => Raw, n: number, drain: (queue: Raw) => Promise<number>) {
  await using place = await open();
  await createUserTables(place.url);
  await using queue = raw(place.url);
  await queue.create();
  await queue.seed(n);
  await place.settle();
  const seconds = await drain(queue);
  await queue.check(n);
  return { "per second": n / seconds };
}

function owedDrain(open: OpenPlace, batchSize: number): Contestant {
  return {
    name: `owed, batchSize ${batchSize}`,
    async run(n) {
      await using place = await open();
      await seedOwed(place.url, n);
      await place.settle();
      return await drainOwed(place.url, n, batchSize, idle);
    },
  };
}

function owedWriting(open: OpenPlace): Contestant {
  return {
    name: "owed, ctx.transaction()",
    async run(n) {
      await using place = await open();
      await createUserTables(place.url);
      await seedOwed(place.url, n);
      await place.settle();
      const figures = await drainOwed(place.url, n, 500, writeEffect);
      await checkEffects(place.url, n);
      return figures;
    },
  };
}
