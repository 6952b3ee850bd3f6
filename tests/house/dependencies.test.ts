import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { importsOf, packageOf, readText, sourceFiles } from "./source_files.ts";

type Versions = Record<string, string>;
const manifest = JSON.parse(readText("package.json"));
const deno = JSON.parse(readText("deno.json"));
const dependencies: Versions = manifest.dependencies;
const all: Versions = { ...dependencies, ...manifest.devDependencies };

describe("dependencies", () => {
  it("every version is exact", () => {
    const manifests = ["tools/package.json", "tools/matrix/package.json"].map((path) => JSON.parse(readText(path)));
    const versions = [manifest, ...manifests].flatMap((each) =>
      Object.entries<string>({ ...each.dependencies, ...each.devDependencies, ...each.optionalDependencies })
    );
    const loose = versions.filter(([, version]) => !/^(npm:@?[^@]+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
    assert.deepEqual(loose, [], "Write the version that was tested, without a range");
  });

  it("package.json is the only list, and both lockfiles follow it", () => {
    assert.equal(deno.imports, undefined, "Deno reads package.json: a second list would drift");
    const locks = {
      "deno.lock": (n: string, v: string) => `"npm:${n}@${v}"`,
      "bun.lock": (n: string, v: string) => `"${n}": "${v}"`,
    };
    for (const [lock, entry] of Object.entries(locks)) {
      const text = readText(lock);
      const missing = Object.entries(all).filter(([name, version]) => !text.includes(entry(name, version)));
      assert.deepEqual(missing, [], `Run "deno install" and "bun install --lockfile-only" and commit ${lock}`);
    }
  });

  it("what is imported is listed where it is needed", () => {
    const missing = (places: string[], listed: Versions) =>
      sourceFiles(...places).flatMap((file) =>
        importsOf(file).map(({ specifier }) => packageOf(specifier))
          .filter((name) => name && name !== manifest.name && !(name in listed)).map((name) => `${file.path}: ${name}`)
      );
    // The command line opens whichever driver is installed, and "pg" is for the caller to bring.
    const published = missing(["mod.ts", "relay.ts", "src"], { ...dependencies, pg: "" });
    assert.deepEqual(published, [], "Add it to dependencies in package.json");
    assert.deepEqual(missing(["tests", "bench", "examples", "tools"], all), [], "Add it to devDependencies");
  });

  it("what is listed is imported", () => {
    const imported = new Set(
      sourceFiles("mod.ts", "relay.ts", "src", "tests", "bench", "examples", "tools")
        .flatMap((file) => importsOf(file).map(({ specifier }) => packageOf(specifier))),
    );
    const idle = Object.keys(all).filter((name) => !name.startsWith("@types/") && !imported.has(name));
    assert.deepEqual(idle, [], "Take it out of package.json");
  });

  it("deno.json and package.json name the same package and the same doors", () => {
    const { name, version, license, exports } = manifest;
    assert.deepEqual(
      { name: deno.name, version: deno.version, license: deno.license, exports: deno.exports },
      { name, version, license, exports },
    );
  });

  it("the documentation of every entry point is checked", () => {
    const linted: string = deno.tasks.check.command;
    const missing = Object.values<string>(deno.exports).filter((path) => !linted.includes(path.replace("./", " ")));
    assert.deepEqual(missing, [], 'Add it to "deno doc --lint" in the task "check"');
  });
});
