import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import type { OpenDatabase, StorageHarness } from "../storage/harness.ts";
import { type Cases, Given } from "./given.ts";
import { recordLogs } from "./logs.ts";
import { topics } from "./topics.ts";

/**
 * Holds the library over one backend to what it promises: registers every case, to run on the harness's databases.
 * Called in a `describe` of the file that is run, which the report then names.
 */
export function outboxSuite(harness: StorageHarness): void {
  const skips = reasons(harness);
  const shared = new SharedDatabase(harness);
  after(() => shared.close());
  for (const [topic, cases] of Object.entries<Cases>(topics)) {
    describe(topic, () => {
      for (const [title, run] of Object.entries(cases)) {
        const reason = skips.get(`${topic}: ${title}`);
        const options = reason === undefined ? { timeout: 30_000 } : { skip: reason };
        it(title, options, () => shared.use(run));
      }
    });
  }
}

/** Why a case is skipped, by its name. A name that is no case is refused, or the list would rot. */
function reasons({ name, skip = [] }: StorageHarness): Map<string, string> {
  const known = new Set(
    Object.entries<Cases>(topics).flatMap(([topic, cases]) => Object.keys(cases).map((title) => `${topic}: ${title}`)),
  );
  const skips = new Map(skip.flatMap(({ reason, tests }) => tests.map((test) => [test, reason])));
  assert.deepEqual([...skips.keys()].filter((test) => !known.has(test)), [], `${name} skips what is no case`);
  return skips;
}

/** One migrated database for all cases, empty before each; a case that fails takes it along and the next gets another. */
class SharedDatabase {
  readonly #harness: StorageHarness;
  #database: Promise<OpenDatabase> | undefined;

  constructor(harness: StorageHarness) {
    this.#harness = harness;
  }

  async use(run: (given: Given) => Promise<void>): Promise<void> {
    const database = await (this.#database ??= this.#open());
    const random = Math.random;
    Math.random = () => 0.5; // no wait is drawn by chance
    try {
      await database.clear();
      await run(new Given(database, await recordLogs(), () => this.#harness.open()));
    } catch (error) {
      await this.close().catch(() => {}); // the case's own error is the one to show
      throw error;
    } finally {
      Math.random = random;
    }
  }

  async close(): Promise<void> {
    const database = this.#database;
    this.#database = undefined;
    await (await database)?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<OpenDatabase> {
    const database = await this.#harness.open();
    await database.storage.migrate();
    await database.query(`create table ${database.table("notes")} (note text)`);
    return database;
  }
}
