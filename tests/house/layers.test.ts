import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Import, importsOf, packageOf, type SourceFile, sourceFiles } from "./source_files.ts";

// Which room may import which, beside itself and the leaves. "storage" is the contract, without its backends.
const rules = ["firing", "operations", "consuming"];
const all = ["core", "declaration", "storage", ...rules, "delivery", "relay", "publishing", "tasks", "outbox"];
const rooms: Record<string, string[]> = {
  leaf: [],
  declaration: [],
  storage: [],
  core: ["declaration", "storage"],
  firing: ["core", "declaration", "storage"],
  operations: ["core", "declaration", "storage"],
  consuming: ["core", "declaration", "storage"],
  delivery: ["core", "declaration", "storage", "firing"],
  publishing: ["core", "declaration", "storage", "delivery"],
  tasks: ["core", "declaration", "storage", "delivery"],
  telemetry: ["declaration", "delivery"],
  relay: ["core", "declaration", "storage", "firing", "delivery", "operations"],
  "storage/postgres": ["storage"],
  "storage/sqlite": ["storage"],
  outbox: all,
  mod: [...all, "testing"],
  http: all,
  cli: [...all, "http", "storage/postgres", "storage/sqlite"],
  testing: [...all, "http", "storage/postgres", "storage/sqlite"],
};

// The place that may name a package, and whether only by `await import()`, so that nobody must install it.
const packages: Record<string, { where: string | string[]; onlyDynamic?: true }> = {
  // The library asks for loggers in one place; only the command, which owns its process, configures them.
  "@logtape/logtape": { where: ["src/log.ts", "src/cli/logging.ts"] },
  "postgres": { where: "src/cli/", onlyDynamic: true },
  "pg": { where: "src/cli/", onlyDynamic: true },
  "@libsql/client": { where: "src/cli/", onlyDynamic: true },
  "@optique/core": { where: "src/cli/" },
  "@optique/run": { where: "src/cli/" },
  "@opentelemetry/api": { where: "src/telemetry/" },
  "hono": { where: "src/http/" },
  "prom-client": { where: "src/http/" },
};

function roomOf(path: string): string {
  if (!path.startsWith("src/")) return path.replace(/\.ts$/, "");
  const parts = path.split("/").slice(1, -1);
  if (parts.length === 0) return /^src\/(core|outbox)\.ts$/.exec(path)?.[1] ?? "leaf";
  const backend = parts.slice(0, 2).join("/");
  return backend in rooms ? backend : parts[0]!;
}

/** Why the import is forbidden, or undefined. */
function refusal(file: SourceFile, { specifier, target, isDynamic }: Import): string | undefined {
  const says = `${file.path} imports "${specifier}"`;
  if (target !== undefined) {
    if (!target.startsWith("src/")) return `${says}: nothing in src/ may import from outside of it`;
    const [from, to] = [roomOf(file.path), roomOf(target)];
    if (from === to || to === "leaf" || rooms[from]?.includes(to)) return undefined;
    return `${says}: "${from}" may import only: ${["itself", "leaves", ...rooms[from] ?? []].join(", ")}`;
  }
  const name = packageOf(specifier);
  if (!name) return undefined;
  const rule = packages[name];
  if (!rule) return `${says}: a package must be listed in tests/house/layers.test.ts`;
  const places = [rule.where].flat();
  if (!places.some((place) => file.path.startsWith(place))) return `${says}: only ${places.join(" and ")} may`;
  if (rule.onlyDynamic && !isDynamic) return `${says}: only as \`await import("${specifier}")\``;
}

describe("layers", () => {
  const files = sourceFiles("mod.ts", "src");

  it("imports point one way", () => {
    const refused = files.flatMap((file) => importsOf(file).map((edge) => refusal(file, edge)))
      .filter((reason) => reason !== undefined);
    assert.deepEqual(refused, [], "Forbidden imports; the rooms are in CONTRIBUTING.md");
  });

  it("every folder of src/ is a room", () => {
    const strangers = files.filter(({ path }) => !(roomOf(path) in rooms)).map(({ path }) => path);
    assert.deepEqual(strangers, [], "A new room needs a row in tests/house/layers.test.ts and in CONTRIBUTING.md");
  });

  it("the rules refuse what they should", () => {
    const edge = (path: string, specifier: string, target?: string, isDynamic = false) =>
      refusal({ path, text: "", lines: [] }, { specifier, target, isDynamic });
    assert.match(
      edge("src/declaration/event.ts", "../storage/states.ts", "src/storage/states.ts") ?? "",
      /only: itself/,
    );
    assert.match(edge("src/firing/fire.ts", "../delivery/deliver.ts", "src/delivery/deliver.ts") ?? "", /only: itself/);
    assert.match(
      edge("src/outbox.ts", "./storage/postgres/mod.ts", "src/storage/postgres/mod.ts") ?? "",
      /only: itself/,
    );
    assert.match(edge("src/clock.ts", "./core.ts", "src/core.ts") ?? "", /only: itself, leaves$/);
    assert.match(edge("src/cli/open.ts", "postgres") ?? "", /await import/);
    assert.match(edge("src/relay/relay.ts", "@logtape/logtape") ?? "", /only/);
    assert.equal(edge("src/cli/open.ts", "postgres", undefined, true), undefined);
    assert.equal(edge("src/delivery/deliver.ts", "../firing/scope.ts", "src/firing/scope.ts"), undefined);
  });
});
