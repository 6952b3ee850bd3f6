/**
 * Installs the runtimes and test servers of this folder from npm, when they are missing or not those of the lockfile.
 * @module
 */
import { execFileSync, type ExecFileSyncOptions } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { arch, execPath, platform } from "node:process";
import { fileURLToPath } from "node:url";

const here = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Bun from `tools/`, so that every machine tests the same version. */
export const bunPath: string = here("./node_modules/.bin/bun");

/** Brings `tools/` (or `tools/matrix/`) up to date; does nothing when it is. */
export function installTools(folder: "" | "matrix" = ""): void {
  const [lock, installed] = ["package-lock.json", "node_modules/.installed-lock.json"].map((name) =>
    here(`./${folder}/${name}`)
  ) as [string, string];
  if (existsSync(installed) && readFileSync(installed, "utf8") === readFileSync(lock, "utf8")) return;
  console.error(`Installing tools/${folder} from npm ...`);
  // Not "ci": it would first remove the Deno that may be running this from here.
  npm(["install", "--no-save", "--prefix", here(`./${folder}`), "--no-audit", "--no-fund", "--loglevel=error"]);
  if (folder === "") placeBun();
  copyFileSync(lock, installed);
}

function npm(args: string[]): void {
  const options: ExecFileSyncOptions = { cwd: tmpdir(), stdio: ["ignore", 2, 2] };
  try {
    execFileSync("npm", args, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // A machine with Deno alone. Install scripts would need Node.
    const flags = ["run", "--quiet", "-A", "--no-config", "--no-lock", "npm:npm@11.19.1", "--ignore-scripts"];
    execFileSync(execPath, [...flags, ...args], options);
  }
}

// What Bun's install script does; npm runs none where the user forbids them.
function placeBun(): void {
  const binary = here(`./node_modules/@oven/bun-${platform}-${arch === "arm64" ? "aarch64" : arch}/bin/bun`);
  if (existsSync(binary)) copyFileSync(binary, here("./node_modules/bun/bin/bun.exe"));
}

if (import.meta.main) installTools();
