/** One test as a JUnit report has it. */
export interface TestCase {
  /** Empty where Deno does not say: it files the tests inside a `describe` under its own source. */
  file: string;
  name: string;
  state: "passed" | "failed" | "skipped";
}

/** The leaf tests of a report by `deno test` or `bun test`: a group counts only when it failed by itself, in a hook. */
export function readJunit(xml: string): TestCase[] {
  const cases = [
    ...xml.matchAll(/<testcase\b([^>]*?)(?:\/>|>([\s\S]*?)<\/testcase>)/g),
  ].map(([, attributes, body]) => readCase(attributes ?? "", body ?? ""));
  const groups = new Set<string>();
  for (const { name } of cases) {
    const parts = name.split(" > ");
    for (let length = 1; length < parts.length; length++) {
      groups.add(parts.slice(0, length).join(" > "));
    }
  }
  return cases.filter(({ name, ownFailure }) => ownFailure || !groups.has(name));
}

function readCase(attributes: string, body: string): TestCase & { ownFailure: boolean } {
  const attribute = (name: string) => unescape(new RegExp(`\\b${name}="([^"]*)"`).exec(attributes)?.[1] ?? "");
  const failed = /<(failure|error)\b/.test(body);
  const byItsSteps = /<failure message="\d+ test steps? failed/.test(body);
  const groups = attribute("classname");
  const isBun = /\bfile="/.test(attributes); // Bun: groups from the inside out, and apart from the name
  return {
    file: isBun ? attribute("file") : groups.startsWith("ext:") ? "" : groups.replace(/^\.\//, ""),
    name: isBun && groups ? [...groups.split(" > ").reverse(), attribute("name")].join(" > ") : attribute("name"),
    state: failed ? "failed" : /<skipped\b/.test(body) ? "skipped" : "passed",
    ownFailure: failed && !byItsSteps,
  };
}

function unescape(text: string): string {
  const named: Record<string, string> = {
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    amp: "&",
  };
  return text.replace(
    /&(?:#(\d+)|(\w+));/g,
    (all, code, name) => code ? String.fromCodePoint(Number(code)) : named[name] ?? all,
  );
}
