/**
 * Writes the list of the pitfalls, as the tests' titles name them, between the markers of docs/conformance.md.
 * Usage: conformance.ts
 * @module
 */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const [START, END] = ["<!-- pitfalls -->", "<!-- /pitfalls -->"];

const root = fileURLToPath(new URL("../", import.meta.url));

/** The pitfalls that concern what is here: of firing, declaring, payloads, claims, outcomes, fan-out and the task site. */
export const PITFALLS: readonly number[] = [
  ...[1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 15, 17, 18, 19, 21, 22, 23, 25],
  ...[26, 27, 29, 30, 31, 33, 34, 35, 37, 38],
  ...[39, 41, 42, 43, 45, 46, 47, 49, 50, 51],
  ...[53, 54, 55, 57, 58, 59, 61, 62, 63, 65, 66, 67, 69, 70],
  ...[71, 73, 74, 75, 77, 78, 79, 81, 82, 83, 85, 86, 87, 89, 90, 91, 93, 94, 95, 97, 98, 99, 101],
  ...[102, 103, 105, 106, 107, 109, 110, 114, 115, 117, 119],
  ...[143, 145, 146, 147, 149, 150, 151, 170, 171],
];

/** A test as its file writes it down. */
export interface Title {
  /** From the root of the repository. */
  readonly file: string;
  readonly title: string;
}

/** What stands in the place of a value in a title that is made of several. */
const VALUE = "…";

/** What may be a test's title, in the order in which it stands there: a key, or the first text of a call or a row. */
export function titlesOf(file: string, text: string): Title[] {
  const literal = /(?:^\s*|[([]\s*)(?:"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/gm;
  return [...text.matchAll(literal)].map(([, plain, template]) => ({
    file,
    title: unescaped(plain ?? template!.replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, VALUE)),
  }));
}

/** The same of every file below `tests/`. */
export function allTitles(): Title[] {
  const files = globSync("tests/**/*.ts", { cwd: root }).map((path) => path.replaceAll("\\", "/")).sort();
  return files.flatMap((file) => titlesOf(file, readFileSync(root + file, "utf8")));
}

/** The numbers that a title begins with: `pitfalls 50 and 51: ...`. */
export function numbersOf(title: string): number[] {
  const [head] = /^pitfalls? \d[^:]*(?=: )/.exec(title) ?? [""];
  return [...head.matchAll(/\d+/g)].map(Number);
}

/** The document with the list between its markers; everything else stays. */
export function withPitfalls(document: string, titles: readonly Title[]): string {
  const [start, end] = [document.indexOf(START), document.indexOf(END)];
  if (start < 0 || end < start) throw new Error(`Cannot write the list: the document must have ${START} and ${END}`);
  const list = PITFALLS.map((number) => {
    const own = titles.filter(({ title }) => numbersOf(title).includes(number));
    return `- **${number}**\n${own.map(({ file, title }) => `  - \`${file}\` ${title}\n`).join("")}`;
  });
  // A title on one line is found by who looks for it.
  const unbroken = `<!-- deno-fmt-ignore-start -->\n\n${list.join("")}\n<!-- deno-fmt-ignore-end -->`;
  return `${document.slice(0, start)}${START}\n\n${unbroken}\n\n${document.slice(end)}`;
}

/** The tests that a document names, one in each list item that begins with a file of `tests/`. */
export function namedIn(document: string): Title[] {
  const items: string[] = [];
  for (const line of document.split("\n")) {
    if (/^\s*- /.test(line)) items.push(line.trim().slice(2));
    else if (/^\s+\S/.test(line) && items.length > 0) items.push(`${items.pop()} ${line.trim()}`);
    else items.push("");
  }
  return items.flatMap((item) => {
    const [, file, title] = /^`(tests\/\S+\.ts)` +(.+)$/.exec(item) ?? [];
    return file === undefined ? [] : [{ file, title: title! }];
  });
}

function unescaped(literal: string): string {
  return literal.replaceAll(/\\(.)/g, "$1");
}

if (import.meta.main) {
  const page = `${root}docs/conformance.md`;
  writeFileSync(page, withPitfalls(readFileSync(page, "utf8"), allTitles()));
}
