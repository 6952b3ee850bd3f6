import { randomUUID } from "node:crypto";
import { env } from "node:process";
import postgres from "postgres";
import { temporaryFile } from "../../tests/support/databases.ts";
import { startPostgres } from "../../tests/support/postgres_server.ts";

/** An empty database, gone at the end of the `await using` scope. */
export interface Place extends AsyncDisposable {
  readonly url: string;
  /** Brings the database into the state of a quiet moment before the clock starts. */
  settle(): Promise<void>;
}

/** Where runs find their databases. Nothing is started before it is needed. */
export class Places implements AsyncDisposable {
  readonly #stack = new AsyncDisposableStack();
  #server: Promise<string> | undefined;

  /** A database on a server whose commits are durable: the given one, or a private one with its default settings. */
  async postgres(): Promise<Place> {
    const url = await (this.#server ??= this.#start());
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    const name = `bench_${randomUUID().slice(0, 8)}`;
    await admin`create database ${admin(name)}`;
    return {
      url: Object.assign(new URL(url), { pathname: `/${name}` }).href,
      settle: () => settlePostgres(url, name),
      async [Symbol.asyncDispose]() {
        await admin`drop database if exists ${admin(name)} with (force)`;
        await admin.end();
      },
    };
  }

  /** A file in the folder for temporary ones; owed and the raw contestant both write it ahead, with full syncs. */
  libsql(): Promise<Place> {
    const file = temporaryFile("bench.db");
    return Promise.resolve({
      url: file.url,
      settle: () => Promise.resolve(),
      [Symbol.asyncDispose]: () => file[Symbol.asyncDispose](),
    });
  }

  async #start(): Promise<string> {
    return env.OWED_TEST_POSTGRES_URL ?? this.#stack.use(await startPostgres(15, "durable")).url;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stack.disposeAsync();
  }
}

async function settlePostgres(url: string, name: string): Promise<void> {
  const sql = postgres(url, { max: 1, database: name, onnotice: () => {} });
  try {
    await sql`vacuum analyze`;
    await sql`checkpoint`;
  } finally {
    await sql.end();
  }
}

/** Opens one place for each run of a backend. */
export type OpenPlace = () => Promise<Place>;
