import { existsSync, globSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export interface SourceFile {
  /** From the root of the repository, with slashes: `src/delivery/verdict.ts`. */
  path: string;
  text: string;
  lines: string[];
}

export interface Import {
  /** What stands between the quotes. */
  specifier: string;
  /** The path of the file that it means; undefined for a package. */
  target: string | undefined;
  isDynamic: boolean;
}

/** The TypeScript files below the folders or files, those of them that exist. */
export function sourceFiles(...places: string[]): SourceFile[] {
  const paths = places.filter((place) => existsSync(root + place))
    .flatMap((place) => place.endsWith(".ts") ? [place] : globSync(`${place}/**/*.ts`, { cwd: root }))
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !path.includes("node_modules/"));
  return paths.sort().map((path) => {
    const text = readText(path);
    return { path, text, lines: text.split("\n") };
  });
}

export function readText(path: string): string {
  return readFileSync(root + path, "utf8");
}

/** The imports of a file in the layout of `deno fmt`, so that examples in comments are none. */
export function importsOf({ path, text }: SourceFile): Import[] {
  const one = (specifier: string, isDynamic: boolean): Import => ({
    specifier,
    target: /^\.{1,2}\//.test(specifier) ? posix.join(posix.dirname(path), specifier) : undefined,
    isDynamic,
  });
  const fixed = text.matchAll(/^(?:(?:import|export|\}) .*?\bfrom|import) "([^"]+)"/gm);
  const dynamic = text.matchAll(/^(?! *(?:\*|\/\/)).*?\bimport\("([^"$]+)"\)/gm);
  return [
    ...[...fixed].map(([, specifier]) => one(specifier!, false)),
    ...[...dynamic].map(([, specifier]) => one(specifier!, true)),
  ];
}

/** `@scope/name/sub` -> `@scope/name`; undefined for relative paths and what the runtime brings. */
export function packageOf(specifier: string): string | undefined {
  if (/^(\.|node:|bun:)/.test(specifier)) return undefined;
  return specifier.split("/").slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
}
