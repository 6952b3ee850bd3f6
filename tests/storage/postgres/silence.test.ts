import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Pool } from "pg";
import postgres from "postgres";
import { DatabaseUnreachable } from "../../../src/errors.ts";
import { isConnectionLoss } from "../../../src/storage/postgres/faults.ts";
import { Connections } from "../../../src/storage/postgres/connections.ts";
import { PostgresStorage } from "../../../src/storage/postgres/storage.ts";
import type { ClaimedDelivery } from "../../../src/storage/records.ts";
import type { Acknowledgement, Storage } from "../../../src/storage/storage.ts";
import { aDebt, anEvent, succeeded } from "../../suite/storage/samples.ts";
import { type FreshSchema, freshSchema, postgresUrls } from "../../support/databases.ts";
import { type SilentProxy, silentProxy } from "./silent_proxy.ts";

const { version, url } = postgresUrls()[0]!;

const factories = {
  "postgres.js": (url: string) => (options: object) => postgres(url, { ...options, onnotice: () => {} }),
  "pg": (url: string) => (options: object) => new Pool({ connectionString: url, ...options }),
};

/** A storage whose connections can be silenced, one row that is claimed, and a receiver's transaction for it. */
class Given implements AsyncDisposable {
  readonly #place: FreshSchema;
  readonly #proxy: SilentProxy;
  readonly storage: Storage;

  constructor(place: FreshSchema, proxy: SilentProxy, driver: keyof typeof factories, deadlineMs?: number) {
    this.#place = place;
    this.#proxy = proxy;
    const connections = new Connections<unknown>(factories[driver](proxy.url) as never, null, null, deadlineMs);
    this.storage = new PostgresStorage(connections, place.schema);
  }

  static async migrated(driver: keyof typeof factories, deadlineMs?: number): Promise<Given> {
    const given = new Given(await freshSchema(url), await silentProxy(url), driver, deadlineMs);
    await given.storage.migrate();
    return given;
  }

  async held(): Promise<ClaimedDelivery> {
    await this.fire();
    const receivers = [{ key: "stock.reserve", leaseMs: 60_000 }];
    const [held] = await this.storage.claim({ worker: "w", receivers, limit: 1 });
    return held!;
  }

  async acknowledge({ fence }: ClaimedDelivery): Promise<Acknowledgement> {
    return (await this.storage.acknowledge(fence, { timeoutMs: 60_000 }))!;
  }

  async fire(): Promise<void> {
    const event = anEvent();
    await this.storage.transaction((tx) => this.storage.append(tx, [event], [aDebt(event)]));
  }

  silence(): void {
    this.#proxy.silence();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { sql, schema } = this.#place;
    // The server does not know yet that nobody is there.
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where state like 'idle in transaction%' and query like ${`%${schema}%`} and pid <> pg_backend_pid()`;
    await this.#proxy[Symbol.asyncDispose]();
    await this.storage.close();
    await this.#place[Symbol.asyncDispose]();
  }
}

for (const driver of ["postgres.js", "pg"] as const) {
  describe(`a connection that has gone silent, Postgres ${version}, ${driver}`, () => {
    it("is given up by abandon while its receiver works, and the pool is replaced", async () => {
      await using given = await Given.migrated(driver);
      const opened = await given.acknowledge(await given.held());
      given.silence();
      await opened.abandon();
      await given.fire();
    });

    it("is given up by abandon while it is finished, and the pool is replaced", async () => {
      await using given = await Given.migrated(driver);
      const opened = await given.acknowledge(await given.held());
      given.silence();
      const finished = opened.finish(succeeded).catch((error) => isConnectionLoss(error) ? "lost" : error);
      await opened.abandon();
      assert.equal(await finished, "lost");
      await given.fire();
    });

    it("is not waited for without end by finish, and the pool is replaced", async () => {
      await using given = await Given.migrated(driver, 1_000);
      const opened = await given.acknowledge(await given.held());
      given.silence();
      await assert.rejects(opened.finish(succeeded), (error) => isConnectionLoss(error));
      await given.fire();
    });

    it("is not waited for without end by an opening, which tells that the database is unreachable", async () => {
      await using given = await Given.migrated(driver, 1_000);
      const held = await given.held();
      given.silence();
      await assert.rejects(given.acknowledge(held), DatabaseUnreachable);
      await given.fire();
    });
  });
}
