import { readText, sourceFiles } from "../house/source_files.ts";

/** A fenced block of TypeScript in the documentation. */
export interface Example {
  /** Where it stands and what it is called. */
  readonly title: string;
  readonly code: string;
  /** Whether it is only type-checked: its fence says `no-run`, because it needs a server or never ends. */
  readonly onlyChecked: boolean;
  /** What its `console.log` lines are said to print, in order. */
  readonly prints: readonly string[];
}

/** Every example in the doc comments of the published files and in the README. */
export function examples(): Example[] {
  const inComments = sourceFiles("mod.ts", "relay.ts", "src").flatMap(({ path, text }) =>
    [...text.matchAll(/^[ \t]*\/\*\*[\s\S]*?\*\//gm)].flatMap((comment) =>
      fenced(path, comment[0].replace(/^[ \t]*\* ?/gm, ""), text.slice(0, comment.index).split("\n").length)
    )
  );
  return [...inComments, ...fenced("README.md", readText("README.md"), 1)];
}

/** The documentation comment of what a module of `src/` exports, or undefined. */
export function commentOf(name: string): string | undefined {
  const declaration = new RegExp(
    `(/\\*\\*(?:(?!\\*/)[\\s\\S])*\\*/)\\nexport (?:async )?(?:function|const) ${name}\\b`,
  );
  for (const { text } of sourceFiles("src")) {
    const found = declaration.exec(text);
    if (found) return found[1];
  }
  return undefined;
}

function fenced(path: string, text: string, firstLine: number): Example[] {
  return [...text.matchAll(/^```ts\b([^\n]*)\n([\s\S]*?)^```$/gm)].map((fence) => {
    const before = text.slice(0, fence.index);
    const heading = [...before.matchAll(/^(?:@example|#+) +(.+)$/gm)].at(-1)?.[1] ?? "the first example";
    const code = fence[2]!;
    return {
      title: `${path}:${firstLine + before.split("\n").length - 1} ${heading}`,
      code,
      onlyChecked: /\bno-run\b/.test(fence[1]!),
      prints: [...code.matchAll(/^ *console\.log\(.*\); \/\/ (.+)$/gm)].map((line) => line[1]!),
    };
  });
}
