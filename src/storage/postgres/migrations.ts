import type { Migration } from "../storage.ts";
import { digest, quoted } from "./identifiers.ts";
import { FIRST } from "./migrations/first.ts";

/** The steps in order, append-only. A text that was released never changes: databases remember its checksum. */
const STEPS: readonly { readonly name: string; readonly text: string }[] = [
  { name: "tables", text: FIRST },
];

/** A migration, with the checksum of its text before the schema's name was put in. */
export interface Step extends Migration {
  readonly checksum: string;
}

/** A migration that the database says it has. */
export interface Applied {
  readonly version: number;
  readonly name: string;
  readonly checksum: string;
}

/** The migrations of a schema. */
export function migrationsOf(schema: string): readonly Step[] {
  return STEPS.map(({ name, text }, index) => ({
    version: index + 1,
    name,
    sql: text.replaceAll("{schema}", () => quoted(schema)),
    checksum: digest(text),
  }));
}

/**
 * Which steps are missing.
 *
 * @throws {Error} when the database has a step that is not here, or one whose text differs.
 */
export function missingFrom(applied: readonly Applied[], steps: readonly Step[], schema: string): Step[] {
  for (const { version, name, checksum } of applied) {
    const step = steps.find((candidate) => candidate.version === version);
    if (step === undefined) {
      throw new Error(
        `Cannot use schema "${schema}": it has migration ${version} (${name}), which this release does not know; ` +
          `a newer release migrated it, so update @owed/outbox here too`,
      );
    }
    if (step.checksum !== checksum) {
      throw new Error(
        `Cannot use schema "${schema}": its migration ${version} (${name}) differs from this release's; ` +
          `a database keeps the text that it was migrated with, so restore the release that wrote it`,
      );
    }
  }
  const has = new Set(applied.map(({ version }) => version));
  return steps.filter(({ version }) => !has.has(version));
}
