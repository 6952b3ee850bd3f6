import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { allTitles, namedIn, numbersOf, PITFALLS, titlesOf, withPitfalls } from "../../tools/conformance.ts";
import { readText } from "./source_files.ts";

const page = readText("docs/conformance.md");
const titles = allTitles();
const bare = (text: string) => text.replace(/\s+/g, " ").trim();
const known = new Set(titles.map(({ file, title }) => `${file} ${bare(title)}`));

describe("the conformance page", () => {
  it("names tests that are there", () => {
    const named = namedIn(page);
    assert.ok(named.length > 200, `It names ${named.length} tests`);
    const gone = named.map(({ file, title }) => `${file} ${bare(title)}`).filter((one) => !known.has(one));
    assert.deepEqual(gone, [], "Write the title as the test has it");
  });

  it("gives each statement a test, or says why it has none", () => {
    // Every statement is a list item that begins with bold text; its tests are the items below it.
    const statements = page.split(/^- (?=\*\*)/m).slice(1).map((one) => one.split(/^(?=#|<!--)/m)[0]!);
    const without = statements.filter((one) =>
      namedIn(one.replace(/^.*?(?=^ {2}- )/ms, "")).length === 0 && !/\((not here|later)\)/.test(one)
    );
    assert.deepEqual(without.map((one) => one.split("\n")[0]), [], "Name its test, or mark it (not here) or (later)");
    assert.ok(statements.length > 100, `It has ${statements.length} statements`);
  });

  it("lists the tests of every pitfall", () => {
    const untested = PITFALLS.filter((number) => !titles.some(({ title }) => numbersOf(title).includes(number)));
    assert.deepEqual(untested, []);
    // The formatter breaks lines, so that what is compared is what is named.
    const list = (document: string) => {
      const [, own] = document.split(/<!-- \/?pitfalls -->/);
      return namedIn(own!).map(({ file, title }) => `${file} ${bare(title)}`);
    };
    assert.deepEqual(list(page), list(withPitfalls(page, titles)), "Run `deno run -A tools/conformance.ts`");
  });
});

describe("titles", () => {
  it("are keys, the first text of a call, and the first text of a row", () => {
    const text = `
      "a key": async (given) => {},
      it("a \\"call\\"", () => {});
      it(\`one of \${values[0]} and \${{ a: 1 }.a}\`, () => {});
      ["a row", 1],
    `;
    assert.deepEqual(titlesOf("tests/a.ts", text).map(({ title }) => title), [
      "a key",
      'a "call"',
      "one of … and …",
      "a row",
    ]);
  });

  it("begin with the numbers of their pitfalls", () => {
    assert.deepEqual(numbersOf("pitfall 7: it is refused"), [7]);
    assert.deepEqual(numbersOf("pitfalls 50 and 51: 2 rows"), [50, 51]);
    assert.deepEqual(numbersOf("pitfall 147, pitfall 150: half a claim"), [147, 150]);
    assert.deepEqual(numbersOf("it has 7 rows: all of them"), []);
  });

  it("are found in a document though its lines were broken", () => {
    const document =
      "- **A statement** of\n  two lines\n  - `tests/a.ts` a title\n    of two lines\n  - no test\n\nText.\n";
    assert.deepEqual(namedIn(document), [{ file: "tests/a.ts", title: "a title of two lines" }]);
  });
});
