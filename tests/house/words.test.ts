import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { importsOf, readText, type SourceFile, sourceFiles } from "./source_files.ts";

describe("words", () => {
  const source = sourceFiles("mod.ts", "relay.ts", "src");
  const tests = sourceFiles("tests");
  const all = [...source, ...tests, ...sourceFiles("bench", "examples", "tools")];

  it("nothing is imported from JSR, which Bun and npm cannot reach", () => {
    const imports = all.flatMap((file) =>
      importsOf(file).filter(({ specifier }) => /^(jsr:|@std\/)/.test(specifier)).map(({ specifier }) =>
        `${file.path}: ${specifier}`
      )
    );
    const manifests = ["deno.json", "package.json"].filter((path) => /jsr:|@std\//.test(readText(path)));
    assert.deepEqual([...imports, ...manifests], []);
  });

  it("nothing is left to do in a comment", () => {
    assert.deepEqual(linesWith(all, new RegExp(`\\b(${["TO" + "DO", "FIX" + "ME", "XX" + "X"].join("|")})\\b`)), []);
  });

  it("the library logs, and only the command line prints", () => {
    const library = source.filter(({ path }) => path.startsWith("src/") && !path.startsWith("src/cli/"));
    assert.deepEqual(linesWith(library, /^(?!\s*(\*|\/\/)).*\bconsole\./), [], "Use the logger of src/log.ts");
  });

  it("tests wait for facts, not for a while", () => {
    const sleeping = new RegExp(
      ["timers/" + "promises", "Bun\\.sle" + "ep", "resolve, [\\d_]+\\)", "=> setTime" + "out\\("].join("|"),
    );
    const waiting = tests.filter(({ path }) => path !== "tests/support/wait_for.ts");
    assert.deepEqual(linesWith(waiting, sleeping), [], "Use waitFor() of tests/support/wait_for.ts");
  });
});

function linesWith(files: SourceFile[], pattern: RegExp): string[] {
  return files.flatMap(({ path, lines }) =>
    lines.flatMap((line, index) => pattern.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])
  );
}
