import assert from "node:assert/strict";
import { it } from "node:test";
import { Pool, type PoolClient } from "pg";
import postgres, { type Sql, type TransactionSql } from "postgres";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import type { Storage } from "../../../src/storage/storage.ts";

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type ClientOf<S> = S extends Storage<infer Client> ? Client : never;

/** Compiles only where the types are the same. */
function same<_Proof extends true>(): void {}

const url = "postgres://nobody:secret@127.0.0.1:1/none";

it("infers postgres.js's transaction from its client and from a factory", async () => {
  const sql: Sql = postgres(url, { max: 3 });
  const given = postgresStorage(sql);
  const made = postgresStorage((options) => postgres(url, options));
  same<Same<ClientOf<typeof given>, TransactionSql>>();
  same<Same<ClientOf<typeof made>, TransactionSql>>();
  assert.equal(given.capabilities.maxConcurrency, 2);
  await made.close();
});

it("infers pg's connection from its pool and from a factory", async () => {
  const pool = new Pool({ connectionString: url, max: 5 });
  const given = postgresStorage(pool);
  const made = postgresStorage((options) => new Pool({ connectionString: url, ...options }));
  same<Same<ClientOf<typeof given>, PoolClient>>();
  same<Same<ClientOf<typeof made>, PoolClient>>();
  assert.equal(given.capabilities.maxConcurrency, 4);
  await made.close();
  await pool.end();
});

it("infers the transaction of a client with types of the user's", () => {
  const sql = postgres(url, { types: { bigint: postgres.BigInt } });
  const storage = postgresStorage(sql);
  same<Same<ClientOf<typeof storage>, TransactionSql<{ bigint: bigint }>>>();
  assert.ok(storage.capabilities.maxConcurrency >= 1);
});

it("refuses what is neither a client nor a function", () => {
  assert.throws(() => postgresStorage({} as never), {
    name: "TypeError",
    message:
      "Cannot make a Postgres storage: expected a Sql of postgres.js, a Pool of pg, or a function that makes one",
  });
});

it("refuses a factory that makes something else", () => {
  assert.throws(() => postgresStorage((() => ({})) as never), {
    name: "TypeError",
    message: "Cannot use the client that the factory made: expected a Sql of postgres.js or a Pool of pg",
  });
});

it("refuses a schema name that Postgres could not keep", () => {
  const sql = postgres(url);
  for (const schema of ["", "a\0b", "é".repeat(32), "pg_catalog", "\ud800", 7]) {
    assert.throws(() => postgresStorage(sql, { schema: schema as string }), TypeError, JSON.stringify(schema));
  }
  postgresStorage(sql, { schema: 'é"; drop schema public' });
});
