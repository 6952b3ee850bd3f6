import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { acknowledgeCases } from "./acknowledge.ts";
import { announceCases } from "./announce.ts";
import { appendCases } from "./append.ts";
import { claimCases } from "./claim.ts";
import { claimOnlyCases } from "./claim_only.ts";
import { claimRaceCases } from "./claim_races.ts";
import { findCases } from "./find.ts";
import { type Cases, Given } from "./given.ts";
import type { OpenDatabase, StorageHarness } from "./harness.ts";
import { healthCases } from "./health.ts";
import { migrateCases } from "./migrate.ts";
import { nextDueCases } from "./next_due.ts";
import { releaseUnknownCases } from "./release_unknown.ts";
import { renewCases } from "./renew.ts";
import { reopenCases } from "./reopen.ts";
import { reopenRaceCases } from "./reopen_races.ts";
import { retractCases } from "./retract.ts";
import { settleCases } from "./settle.ts";
import { settleWithinCases } from "./settle_within.ts";
import { stateCases } from "./states.ts";
import { strangerCases } from "./strangers.ts";
import { takeCases } from "./take.ts";
import { transactionCases } from "./transactions.ts";
import { valueCases } from "./values.ts";
import { wakeCases } from "./wake.ts";

const verbs: Readonly<Record<string, Cases>> = {
  append: appendCases,
  retract: retractCases,
  claim: claimCases,
  "claim races": claimRaceCases,
  claimOnly: claimOnlyCases,
  take: takeCases,
  settle: settleCases,
  settleWithin: settleWithinCases,
  acknowledge: acknowledgeCases,
  renew: renewCases,
  releaseUnknown: releaseUnknownCases,
  nextDue: nextDueCases,
  strangers: strangerCases,
  announce: announceCases,
  health: healthCases,
  reopen: reopenCases,
  "reopen races": reopenRaceCases,
  find: findCases,
  values: valueCases,
  states: stateCases,
  transactions: transactionCases,
  wake: wakeCases,
  migrate: migrateCases,
};

/**
 * Holds a backend to the contract of `Storage`: registers every case, to run on the harness's databases. Call it in a
 * `describe` of the test file, or Deno files the tests under this one.
 */
export function storageSuite(harness: StorageHarness): void {
  const skips = reasons(harness);
  const shared = new SharedDatabase(harness);
  after(() => shared.close());
  for (const [verb, cases] of Object.entries(verbs)) {
    describe(verb, () => {
      for (const [title, run] of Object.entries(cases)) {
        const reason = skips.get(`${verb}: ${title}`);
        it(title, reason === undefined ? {} : { skip: reason }, () => shared.use(run));
      }
    });
  }
}

/** Why a case is skipped, by its name. A name that is no case is refused, or the list would rot. */
function reasons({ name, skip = [] }: StorageHarness): Map<string, string> {
  const known = new Set(
    Object.entries(verbs).flatMap(([verb, cases]) => Object.keys(cases).map((t) => `${verb}: ${t}`)),
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
    try {
      await inTime(database.clear(), "The case before has left a transaction open");
      await inTime(run(new Given(database, () => this.#harness.open())), "It waits for what does not come");
    } catch (error) {
      // The case's own error is the one to show, and what it left open may not let the database close.
      await inTime(this.close(), "").catch(() => {});
      throw error;
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

const ceilingMs = 20_000;

async function inTime<T>(work: Promise<T>, otherwise: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`${otherwise}: given up after ${ceilingMs} ms`)), ceilingMs);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
