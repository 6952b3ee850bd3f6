import assert from "node:assert/strict";
import type { Migration } from "../../../src/storage/storage.ts";
import { type Cases, Given } from "./given.ts";
import type { OpenDatabase } from "./harness.ts";
import { range } from "./samples.ts";

function open(given: Given): Promise<OpenDatabase> {
  return given.fresh();
}

/** What the contract says of them. */
function steps(migrations: readonly Migration[]): Migration[] {
  return migrations.map(({ version, name, sql }) => ({ version, name, sql }));
}

export const migrateCases: Cases = {
  "the migrations are numbered from 1 and named": (given) => {
    const { migrations } = given.storage;
    assert.deepEqual(migrations.map(({ version }) => version), range(migrations.length).map((n) => n + 1));
    assert.equal(new Set(migrations.map(({ name }) => name)).size, migrations.length);
    assert.ok(migrations.length > 0 && migrations.every(({ name, sql }) => name && sql));
    return Promise.resolve();
  },

  "a new database lacks them all": async (given) => {
    await using database = await open(given);
    const { storage } = database;
    assert.deepEqual(steps(await storage.pendingMigrations()), steps(storage.migrations));
  },

  "migrate applies them all, and the database works": async (given) => {
    await using database = await open(given);
    const { storage } = database;
    assert.deepEqual(steps(await storage.migrate()), steps(storage.migrations));
    assert.deepEqual(await storage.pendingMigrations(), []);
    const migrated = new Given(database, () => given.fresh());
    await migrated.fire();
    await migrated.claimOne();
  },

  "the script, run by somebody else, is what migrate would have done": async (given) => {
    await using database = await open(given);
    const { storage } = database;
    const statements = storage.migrationScript().split(/;\s*\n/).map((text) => text.replace(/^\s*--.*$/gm, "").trim());
    assert.match(statements[0]!, /^begin/);
    assert.equal(statements.at(-2), "commit");
    await database.begin(async (client) => {
      for (const statement of statements.slice(1, -2)) await database.execute(client, statement);
    });
    assert.deepEqual(await storage.pendingMigrations(), []);
    assert.deepEqual(await storage.migrate(), []);
    const migrated = new Given(database, () => given.fresh());
    await migrated.fire();
    await migrated.claimOne();
  },

  "a second time it applies nothing": async (given) => {
    await using database = await open(given);
    await database.storage.migrate();
    const migrated = new Given(database, () => given.fresh());
    await migrated.fire();
    assert.deepEqual(await database.storage.migrate(), []);
    assert.equal((await migrated.rows()).length, 1);
  },

  "two at once apply each once": async (given) => {
    await using database = await open(given);
    const { storage, second } = database;
    const applied = await Promise.all([storage.migrate(), second!.migrate(), storage.migrate()]);
    assert.deepEqual(steps(applied.flat()), steps(storage.migrations));
  },

  "a migration that this release does not know is refused": async (given) => {
    await using database = await open(given);
    await database.storage.migrate();
    const table = database.table("migrations");
    await database.query(`update ${table} set version = 999 where version = 1`);
    await assert.rejects(database.storage.pendingMigrations(), /999/);
    await assert.rejects(database.storage.migrate(), /999/);
  },

  "a migration whose text differs is refused": async (given) => {
    await using database = await open(given);
    await database.storage.migrate();
    await database.query(`update ${database.table("migrations")} set checksum = 'differs' where version = 1`);
    await assert.rejects(database.storage.pendingMigrations(), Error);
    await assert.rejects(database.storage.migrate(), Error);
  },

  "asking what is missing changes nothing": async (given) => {
    await using database = await open(given);
    await database.storage.pendingMigrations();
    await assert.rejects(database.query(`select 1 from ${database.table("migrations")}`));
  },
};
