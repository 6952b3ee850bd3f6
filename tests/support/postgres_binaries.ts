import { execFileSync } from "node:child_process";
import { cpSync, existsSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { arch, platform } from "node:process";
import { fileURLToPath } from "node:url";

const tools = fileURLToPath(new URL("../../tools/", import.meta.url));

/**
 * The folder with `initdb` and `postgres` of a major version: the system's own, else the npm package's.
 * @param scratch Where to copy the npm package if the user who runs the server cannot reach it.
 */
export function postgresBinaries(version: number, scratch: string, runsAsOther: boolean): string {
  const system = [
    `/usr/lib/postgresql/${version}/bin`,
    `/usr/pgsql-${version}/bin`,
    `/opt/homebrew/opt/postgresql@${version}/bin`,
    `/usr/local/opt/postgresql@${version}/bin`,
    pgConfigBinaries(version),
  ].find((folder) => existsSync(join(folder, "initdb")) && existsSync(join(folder, "postgres")));
  if (system) return system;

  const name = `postgres-${version}-${platform}-${arch}`;
  const found = [tools, join(tools, "matrix")].map((folder) => join(folder, "node_modules", name)).find(existsSync);
  if (!found) {
    throw new Error(
      `Cannot find a Postgres ${version} server: install the system package (Debian: postgresql-${version}), or run ` +
        `"npm ci --prefix tools${version === 16 || version === 17 ? "/matrix" : ""}" if npm has ${name}, or set ` +
        `OWED_TEST_POSTGRES_URL to a server that tests may write to`,
    );
  }
  let native = join(found, "native");
  if (runsAsOther && !everyoneCanReach(native)) {
    cpSync(native, join(scratch, "native"), { recursive: true, verbatimSymlinks: true });
    native = join(scratch, "native");
  }
  linkLibraries(native);
  return join(native, "bin");
}

function pgConfigBinaries(version: number): string {
  try {
    const ask = (flag: string) =>
      execFileSync("pg_config", [flag], { encoding: "utf8", stdio: "pipe" })
        .trim();
    return ask("--version").startsWith(`PostgreSQL ${version}.`) ? ask("--bindir") : "";
  } catch {
    return "";
  }
}

// npm cannot ship links; the package makes them in an install script, which npm 12 does not run.
function linkLibraries(native: string): void {
  const list = join(native, "pg-symlinks.json");
  if (!existsSync(list)) return;
  for (const { source, target } of JSON.parse(readFileSync(list, "utf8"))) {
    const link = join(native, "..", target);
    if (!existsSync(link)) symlinkSync(basename(source), link);
  }
}

function everyoneCanReach(path: string): boolean {
  for (
    let folder = path;
    folder !== dirname(folder);
    folder = dirname(folder)
  ) {
    if ((statSync(folder).mode & 0o005) !== 0o005) return false;
  }
  return true;
}
