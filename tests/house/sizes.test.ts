import assert from "node:assert/strict";
import { it } from "node:test";
import { sourceFiles } from "./source_files.ts";

const ceiling = 400;

it(`no file of src/ is longer than ${ceiling} lines`, () => {
  const long = sourceFiles("src").filter(({ lines }) => lines.length - 1 > ceiling)
    .map(({ path, lines }) => `${path}: ${lines.length - 1} lines`);
  assert.deepEqual(long, [], "A file that long holds more than one rule: give one of them a file of its own");
});
