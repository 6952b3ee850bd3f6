import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { readText } from "../house/source_files.ts";
import { runtimePath, startProcess } from "../support/processes.ts";
import { commentOf, examples } from "./examples.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const all = examples();

// Inside the repository, where "@owed/outbox" means these very sources.
let folder = "";
const fileOf = (index: number) => join(folder, `example_${index}.ts`);
before(() => {
  folder = mkdtempSync(join(root, "tests/.examples-"));
  for (const [index, { code }] of all.entries()) writeFileSync(fileOf(index), `${code}\nexport {};\n`);
});
after(() => rmSync(folder, { recursive: true, force: true }));

describe("the examples of the documentation", () => {
  it("are there", () => assert.ok(all.length > 10));

  it("compile", async () => {
    const files = all.map((_, index) => fileOf(index));
    const options = { cwd: root, env: { ...process.env, NO_COLOR: "1" } };
    await promisify(execFile)(runtimePath("deno"), ["check", "--quiet", ...files], options).catch((error) => {
      const named = error.stderr.replace(
        /file:\S*example_(\d+)\.ts/g,
        (_: string, index: string) => all[+index]!.title,
      );
      assert.fail(named);
    });
  });

  for (const [index, { title, onlyChecked, prints }] of all.entries()) {
    if (onlyChecked) continue;
    it(`${title}: runs${prints.length > 0 ? " and prints what it says" : ""}`, async () => {
      await using example = startProcess(fileOf(index), { cwd: folder });
      const { code } = await example.exited;
      const seen = [...example.stdout, ...example.stderr].join("\n");
      assert.equal(code, 0, seen);
      // The runtimes break lines and set commas differently.
      let rest = bare(example.stdout.join("\n"));
      for (const line of prints) {
        assert.ok(rest.includes(bare(line)), `It should print ${line}, and printed:\n${seen}`);
        rest = rest.slice(rest.indexOf(bare(line)) + bare(line).length);
      }
    });
  }

  it("that are only compiled are few", () => {
    const few = all.filter(({ onlyChecked }) => onlyChecked).map(({ title }) => title);
    assert.ok(few.length <= all.length / 3, few.join("\n"));
  });

  it("show every function of mod.ts, each under a title", () => {
    const exported = [...readText("mod.ts").matchAll(/^export \{([^}]+)\}/gm)].flatMap(([, names]) =>
      names!.split(",").map((name) => name.trim()).filter((name) => /^[a-z]/.test(name))
    );
    assert.ok(exported.includes("fire"));
    const without = exported.filter((name) => !/^ \* @example \S.*\n \* ```ts/m.test(commentOf(name) ?? ""));
    assert.deepEqual(without, []);
  });
});

function bare(text: string): string {
  return text.replace(/[\s,]+/g, "").replaceAll("'", '"');
}
