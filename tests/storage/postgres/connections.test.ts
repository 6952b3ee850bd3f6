import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Pool } from "pg";
import postgres from "postgres";
import { Connections } from "../../../src/storage/postgres/connections.ts";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import { postgresUrls } from "../../support/databases.ts";

const show = {
  name: "show",
  text: "select current_setting('enable_seqscan'), current_setting('jit'), current_setting('application_name')",
};

for (const { version, url } of postgresUrls()) {
  const passing = {
    "postgres.js": (options: object) => postgres(url, { ...options, connection: { application_name: "ours" } }),
    "pg": (options: object) => new Pool({ connectionString: url, application_name: "ours", ...options }),
  };
  const deaf = {
    "postgres.js": () => postgres(url, { max: 2, connection: { application_name: "ours" } }),
    "pg": () => new Pool({ connectionString: url, application_name: "ours", max: 2 }),
  };
  for (const [way, factories] of Object.entries({ "that passes its options on": passing, "that does not": deaf })) {
    for (const [driver, factory] of Object.entries(factories)) {
      it(`fixes the plans of claims, Postgres ${version}, a factory of ${driver} ${way}`, async () => {
        const connections = new Connections<unknown>(factory as never, null, null);
        try {
          assert.deepEqual([...await connections.hot("look", show, [])], [["off", "off", "ours"]]);
          const [work] = await connections.cold("look", show, []);
          assert.deepEqual([work?.[0], work?.[2]], ["on", "ours"]);
        } finally {
          await connections.close();
        }
      });
    }
  }

  describe(`losing connections, Postgres ${version}`, () => {
    const admin = postgres(url, { max: 1, onnotice: () => {} });
    before(async () => void await admin`select 1`);
    after(() => admin.end({ timeout: 1 }));

    for (const [driver, factory] of Object.entries(passing)) {
      it(`goes on after the server ended a transaction's session, ${driver}`, async () => {
        const connections = new Connections<unknown>(factory as never, null, null);
        const pid = { name: "pid", text: "select pg_backend_pid()" };
        try {
          const lost = connections.transaction(async (tx) => {
            const [row] = await tx.run(pid, [], false);
            await admin`select pg_terminate_backend(${Number(row?.[0])}::int)`;
            await tx.run(pid, [], false);
          });
          await assert.rejects(lost);
          for (let times = 0; times < 20; times++) {
            await connections.transaction(async (tx) => void await tx.run(pid, [], false));
          }
        } finally {
          await connections.close();
        }
      });
    }
  });
}

it("names the address without the password when nothing answers", async () => {
  const url = "postgres://somebody:secret@127.0.0.1:1/shop";
  const factories: Record<string, () => unknown> = {
    "postgres.js": () => postgres(url, { connect_timeout: 2 }),
    "pg": () => new Pool({ connectionString: url }),
  };
  for (const factory of Object.values(factories)) {
    const storage = postgresStorage<unknown>(factory as () => never);
    for (
      const attempt of [
        () => storage.health(),
        () => storage.claim({ worker: "w", receivers: [{ key: "a", leaseMs: 1000 }], limit: 1 }),
        () => storage.migrate(),
        () => storage.transaction(() => Promise.resolve()),
      ]
    ) {
      await assert.rejects(attempt, (error: Error) => {
        assert.equal(error.name, "DatabaseUnreachable");
        assert.match(error.message, /postgres:\/\/somebody@127\.0\.0\.1:1\/shop/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      });
    }
    await storage.wake();
    await storage.close();
  }
});
