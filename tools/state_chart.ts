/**
 * Writes the chart of a delivery's states, as `src/storage/states.ts` has them, between the markers of a document.
 * Usage: state_chart.ts [file ...], by default README.md
 * @module
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { MOVES, SETTLED } from "../src/storage/states.ts";

const [START, END] = ["<!-- states -->", "<!-- /states -->"];

/** The chart in Mermaid's language. */
export function stateChart(): string {
  const arrows = new Map<string, string[]>();
  for (const { from, verb, to } of MOVES) {
    const arrow = `${from === "(none)" ? "[*]" : from} --> ${to}`;
    arrows.set(arrow, [...arrows.get(arrow) ?? [], verb]);
  }
  const ends = SETTLED.filter((status) => MOVES.some(({ to }) => to === status));
  return [
    "stateDiagram-v2",
    ...[...arrows].map(([arrow, verbs]) => `  ${arrow}: ${verbs.join(" / ")}`),
    ...ends.map((status) => `  ${status} --> [*]`),
  ].join("\n");
}

/**
 * The document with the chart between its markers; everything else stays.
 *
 * @throws {Error} when the markers are not there, once each and in order
 */
export function withStateChart(document: string): string {
  const [start, end] = [document.indexOf(START), document.indexOf(END)];
  if (start < 0 || end < start || document.indexOf(START, start + 1) >= 0 || document.indexOf(END, end + 1) >= 0) {
    throw new Error(`Cannot write the chart: the document must have ${START} and, behind it, ${END}, once each`);
  }
  const chart = `${START}\n\n\`\`\`mermaid\n${stateChart()}\n\`\`\`\n\n`;
  return document.slice(0, start) + chart + document.slice(end);
}

if (import.meta.main) {
  const files = process.argv.slice(2);
  for (const file of files.length > 0 ? files : ["README.md"]) {
    writeFileSync(file, withStateChart(readFileSync(file, "utf8")));
  }
}
