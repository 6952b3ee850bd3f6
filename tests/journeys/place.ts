import { randomUUID } from "node:crypto";
import postgres from "postgres";
import { fireAll, type Outbox } from "../../mod.ts";
import { openStorage } from "../../src/cli/open_storage.ts";
import { postgresUrls, temporaryFile } from "../support/databases.ts";
import { type Exit, type StartedProcess, type StartOptions, startProcess } from "../support/processes.ts";
import { waitFor } from "../support/wait_for.ts";
import { execute, outbox as bind, Poison, Work } from "./app.ts";

export type Kind = "Postgres" | "libSQL";
export const kinds: readonly Kind[] = ["Postgres", "libSQL"];

/** A database of a journey's own, migrated, with the journey's outbox on it. */
export interface Place extends AsyncDisposable {
  readonly url: string;
  readonly outbox: Outbox;
  /** Starts a relay with the journey's application. */
  relay(options?: Pick<StartOptions, "runtime" | "args" | "env">): StartedProcess;
  /** Fires work for `reserve` and `mail`. */
  work(count: number): Promise<void>;
  poison(): Promise<void>;
  query(sql: string): Promise<Record<string, unknown>[]>;
  /** The deliveries of a receiver. */
  rows(receiverKey: string): ReturnType<Outbox["storage"]["findDeliveries"]>;
  /** Waits until all deliveries of a receiver have this status. */
  all(receiverKey: string, status: string, timeoutMs?: number): Promise<void>;
}

/** The journeys run on the newest server: what differs between versions is the storage tests' business. */
export async function place(kind: Kind, url?: string): Promise<Place> {
  const stack = new AsyncDisposableStack();
  const database = url ?? (kind === "Postgres" ? await freshDatabase(stack) : stack.use(temporaryFile()).url);
  // Told apart from a relay by its name, so that a journey can end the relay's connections alone.
  const own = kind === "Postgres" ? `${database}?application_name=journey` : database;
  const { storage } = await openStorage(own);
  const outbox = stack.use(bind(storage));
  await storage.migrate();
  const query = (sql: string) => outbox.transaction((tx) => execute(tx.client, sql));
  await query("create table effects (n integer not null, attempt integer not null)");
  const rows = (receiverKey: string) => storage.findDeliveries({ receiverKey });
  return {
    url: database,
    outbox,
    query,
    rows,
    relay: ({ runtime, args = [], env = {} } = {}) =>
      startProcess(new URL("../../relay.ts", import.meta.url), {
        ...(runtime ? { runtime } : {}),
        args: [new URL("./app.ts", import.meta.url).pathname, ...args],
        env: { DATABASE_URL: database, ...env },
      }),
    work: (count) =>
      outbox.transaction((tx) => fireAll(tx, Array.from({ length: count }, (_, n) => Work({ n })))).then(() => {}),
    poison: () => outbox.transaction((tx) => fireAll(tx, [Poison({ n: 0 })])).then(() => {}),
    all: async (receiverKey, status, timeoutMs = 20_000) => {
      let seen: string[] = [];
      const done = async () => {
        seen = (await rows(receiverKey)).map((row) => row.status);
        return seen.every((one) => one === status);
      };
      try {
        await waitFor(done, { what: `${receiverKey} to be ${status}`, timeoutMs, everyMs: 50 });
      } catch (error) {
        const counts = [...new Set(seen)].map((one) => `${seen.filter((other) => other === one).length} ${one}`);
        throw new Error(`Deliveries of ${receiverKey}: ${counts.join(", ")}`, { cause: error });
      }
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function freshDatabase(stack: AsyncDisposableStack): Promise<string> {
  const { url } = postgresUrls().at(-1)!;
  const name = `owed_journey_${randomUUID().slice(0, 8)}`;
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  stack.defer(async () => {
    await sql.unsafe(`drop database if exists ${name} with (force)`);
    await sql.end();
  });
  await sql.unsafe(`create database ${name}`);
  const database = new URL(url);
  database.pathname = `/${name}`;
  return database.href;
}

/** What receivers said that they ran: one `receiver delivery attempt` for each. */
export function runs(...relays: readonly StartedProcess[]): string[] {
  return relays.flatMap(({ stdout }) => stdout.filter((line) => line.startsWith("ran ")).map((line) => line.slice(4)));
}

/** How a relay ended; fails with what it wrote when it does not. */
export async function exitOf(relay: StartedProcess): Promise<Exit> {
  let exit: Exit | undefined;
  relay.exited.then((ended) => exit = ended);
  try {
    return await waitFor(() => exit, { what: "the relay to end", timeoutMs: 20_000 });
  } catch (error) {
    throw new Error(`The relay did not end; it wrote:\n${relay.stderr.slice(-20).join("\n")}`, { cause: error });
  }
}
