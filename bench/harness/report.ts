import process from "node:process";
import type { Question } from "./question.ts";
import type { Result } from "./rounds.ts";

/** The same result as a line of JSON. */
export function jsonOf(result: Result): string {
  return JSON.stringify({ runtime, ...result });
}

/** `deno 2.9.6` or `bun 1.4.5`. */
export const runtime: string = process.versions.bun
  ? `bun ${process.versions.bun}`
  : `deno ${process.versions["deno"] ?? "?"}`;

const HEADS = ["", "", "median", "lowest", "highest", "of the first", "target"];

/** A question's results as a table of text. */
export function tableOf(question: Question, results: readonly Result[]): string {
  const rows = results.map((result) => [
    result.contestant,
    result.figure,
    ...[result.median, result.lowest, result.highest].map(shown),
    result.ratio === undefined ? "" : `${result.ratio.toFixed(2)}x`,
    result.target === undefined ? "" : `${result.target} ${result.met ? "met" : "MISSED"}`,
  ]);
  const widths = HEADS.map((head, i) => Math.max(head.length, ...rows.map((row) => row[i]!.length)));
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => i >= 2 && i <= 5 ? cell.padStart(widths[i]!) : cell.padEnd(widths[i]!)).join("  ").trimEnd();
  const title = `${question.name} (n = ${results[0]?.n.toLocaleString("en")}): ${question.about}`;
  return [title, line(HEADS), ...rows.map(line), ""].join("\n");
}

function shown(value: number): string {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
