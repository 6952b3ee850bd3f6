import { createClient } from "@libsql/client";
import postgres from "postgres";
import { check } from "./question.ts";

/** A connection beside the contestants, for their tables and for looking at what they did. */
export interface Tables extends AsyncDisposable {
  run(sql: string): Promise<void>;
  /** The first row, as numbers. */
  numbers(sql: string): Promise<number[]>;
}

/** Connects to a place of either backend. */
export function openTables(url: string): Tables {
  if (url.startsWith("postgres:")) {
    const sql = postgres(url, { max: 1, onnotice: () => {} });
    return {
      run: async (text) => void await sql.unsafe(text),
      numbers: async (text) => ((await sql.unsafe(text).values())[0] as unknown[]).map(Number),
      [Symbol.asyncDispose]: () => sql.end(),
    };
  }
  const client = createClient({ url });
  return {
    run: async (text) => void await client.executeMultiple(text),
    numbers: async (text) => Object.values((await client.execute(text)).rows[0]!).map(Number),
    [Symbol.asyncDispose]: () => Promise.resolve(client.close()),
  };
}

/** The tables of the users' own: business rows for a fire, rows that a receiver writes. */
export async function createUserTables(url: string): Promise<void> {
  await using tables = openTables(url);
  await tables.run("create table biz (id bigint, note text); create table effect (job bigint, note text)");
}

/** Each job wrote its row exactly once. */
export async function checkEffects(url: string, n: number): Promise<void> {
  await using tables = openTables(url);
  const [all, jobs] = await tables.numbers("select count(*), count(distinct job) from effect");
  check(all === n && jobs === n, `${all} rows written for ${jobs} of ${n} jobs`);
}
