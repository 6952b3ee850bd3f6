import { Pool } from "pg";
import postgres from "postgres";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import type { ClaimedDelivery, NewEvent } from "../../../src/storage/records.ts";
import type { Storage } from "../../../src/storage/storage.ts";
import { aDebt, anEvent, range } from "../../suite/storage/samples.ts";
import { type FreshSchema, freshSchema } from "../../support/databases.ts";

/** The drivers by name. */
export const drivers = ["postgres.js", "pg"] as const;
export type DriverName = typeof drivers[number];

/** A migrated schema with a table of notes, and a storage on a client of the user's own. */
export class GivenSchema implements AsyncDisposable {
  readonly place: FreshSchema;
  readonly driver: DriverName;
  readonly storage: Storage;
  readonly #sql: postgres.Sql | undefined;
  readonly #pool: Pool | undefined;

  private constructor(place: FreshSchema, driver: DriverName, max: number) {
    this.place = place;
    this.driver = driver;
    const { url, schema } = place;
    if (driver === "pg") this.#pool = new Pool({ connectionString: url, max });
    else this.#sql = postgres(url, { max, onnotice: () => {} });
    this.storage = this.#pool ? postgresStorage(this.#pool, { schema }) : postgresStorage(this.#sql!, { schema });
  }

  static async migrated(url: string, driver: DriverName, max = 4): Promise<GivenSchema> {
    const given = new GivenSchema(await freshSchema(url), driver, max);
    await given.storage.migrate();
    await given.query(`create table ${given.table("notes")} (note text)`);
    return given;
  }

  table(name: string): string {
    return `${this.place.schema}.${name}`;
  }

  /** Runs SQL beside the storage. */
  async query(text: string): Promise<readonly postgres.Row[]> {
    return [...await this.place.sql.unsafe(text)];
  }

  /** Runs SQL on a transaction of the driver. */
  async say(client: unknown, text: string): Promise<void> {
    if (this.driver === "pg") await (client as { query(text: string): Promise<unknown> }).query(text);
    else await (client as postgres.TransactionSql).unsafe(text);
  }

  /** A transaction as users' code opens it; rejects unless it committed. */
  async begin<R>(work: (client: unknown) => Promise<R>): Promise<R> {
    if (this.#sql) return (await this.#sql.begin(work)) as R;
    const client = await this.#pool!.connect();
    try {
      await client.query("begin");
      const result = await work(client);
      const { command } = await client.query("commit");
      if (command !== "COMMIT") throw new Error(`The server answered ${command}`);
      return result;
    } catch (error) {
      await client.query("rollback");
      throw error;
    } finally {
      client.release();
    }
  }

  async note(client: unknown, text: string): Promise<void> {
    await this.say(client, `insert into ${this.table("notes")} values ('${text}')`);
  }

  /** The notes that were committed. */
  async notes(): Promise<unknown[]> {
    return (await this.query(`select note from ${this.table("notes")} order by note`)).map(({ note }) => note);
  }

  /** Writes that many events with a debt each. */
  async fire(count = 1, receiverKey = "stock.reserve"): Promise<NewEvent[]> {
    const events = range(count).map(() => anEvent());
    const debts = events.map((event) => aDebt(event, { receiverKey }));
    await this.storage.transaction((tx) => this.storage.append(tx, events, debts));
    return events;
  }

  claim(limit = 100, leaseMs = 60_000, keys: readonly string[] = ["stock.reserve"]): Promise<ClaimedDelivery[]> {
    return this.storage.claim({ worker: "w", limit, receivers: keys.map((key) => ({ key, leaseMs })) });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.storage.close();
    await this.#sql?.end({ timeout: 1 });
    await this.#pool?.end();
    await this.place[Symbol.asyncDispose]();
  }
}
