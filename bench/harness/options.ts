import { parseArgs } from "node:util";

/** What the command line asks for. */
export interface Options {
  readonly json: boolean;
  readonly help: boolean;
  /** Parts of the names of questions; empty for all. */
  readonly only: readonly string[];
  readonly rounds: number;
  /** In place of each question's own. */
  readonly n: number | undefined;
}

export const USAGE = `Usage: deno task bench [--only <part of a name>]... [--rounds <number>] [--n <number>] [--json]
   or: bun bench/mod.ts ...

  --only     questions whose name has this text in it, such as "drain" or "libsql"; may be repeated
  --rounds   how often every contestant runs, in turns (default 3)
  --n        events, deliveries or samples of one run, in place of the question's own number
  --json     one line of JSON for each figure instead of tables

Questions:`;

/**
 * Reads the command line.
 *
 * @throws {TypeError | RangeError} saying what is wrong with it
 */
export function optionsOf(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string", multiple: true, default: [] },
      rounds: { type: "string", default: "3" },
      n: { type: "string" },
    },
  });
  return {
    json: values.json,
    help: values.help,
    only: values.only,
    rounds: wholeNumber("--rounds", values.rounds),
    n: values.n === undefined ? undefined : wholeNumber("--n", values.n),
  };
}

function wholeNumber(name: string, text: string): number {
  if (!/^[1-9]\d{0,7}$/.test(text)) throw new RangeError(`${name} must be a whole number from 1, got "${text}"`);
  return Number(text);
}
