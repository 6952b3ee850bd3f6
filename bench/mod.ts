/**
 * Measures what owed costs, beside plain SQL in the same run. See README.md for what each figure means.
 * @module
 */
import process from "node:process";
import { type Options, optionsOf, USAGE } from "./harness/options.ts";
import { Places } from "./harness/places.ts";
import type { Question } from "./harness/question.ts";
import { jsonOf, runtime, tableOf } from "./harness/report.ts";
import { ask } from "./harness/rounds.ts";
import { drains } from "./questions/drain.ts";
import { fires } from "./questions/fire.ts";
import { latencies } from "./questions/latency.ts";
import { memories } from "./questions/memory.ts";

process.exitCode = await main();

async function main(): Promise<number> {
  let options: Options;
  try {
    options = optionsOf(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    return 2;
  }
  await using places = new Places();
  const all = [fires, drains, latencies, memories].flatMap((questions) => questions(places));
  const names = all.map((question) => `  ${question.name}`).join("\n");
  if (options.help) {
    console.log(`${USAGE}\n${names}`);
    return 0;
  }
  const chosen = all.filter(({ name }) =>
    options.only.length === 0 || options.only.some((part) => name.includes(part))
  );
  if (chosen.length === 0) {
    console.error(`No question has "${options.only.join('" or "')}" in its name; there are:\n${names}`);
    return 2;
  }
  if (!options.json) console.log(`${runtime}, ${options.rounds} rounds, medians\n`);
  for (const question of chosen) await measure(question, options);
  return 0;
}

async function measure(question: Question, { n, rounds, json }: Options): Promise<void> {
  const results = await ask(question, rounds, n ?? question.n, showProgress);
  showProgress("");
  if (json) { for (const result of results) console.log(jsonOf(result)); }
  else console.log(tableOf(question, results));
}

/** One line that is written over, where somebody watches. */
function showProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}`);
}
