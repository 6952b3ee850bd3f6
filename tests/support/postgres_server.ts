import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process, { env } from "node:process";
import { freePort } from "./free_port.ts";
import { postgresBinaries } from "./postgres_binaries.ts";
import { waitFor } from "./wait_for.ts";

/** A private Postgres server on 127.0.0.1; disposing of it stops it and removes its data. */
export interface PostgresServer extends AsyncDisposable {
  readonly version: number;
  readonly port: number;
  readonly url: string;
  /** Stops the server and keeps its data. `"immediate"` is a crash: the next start recovers from the log. */
  stop(how?: "fast" | "immediate"): Promise<void>;
  /** Starts a stopped server, on the same port. */
  start(): Promise<void>;
}

// The server is held by this shell, and the shell by its standard input: when the process that started it ends, in
// whatever way (SIGKILL too), the pipe closes, the server is stopped, and its folder goes.
const holder = `
binaries=$1 folder=$2; shift 2
start() { "$binaries/postgres" -D "$folder/data" "$@" </dev/null >>"$folder/log" 2>&1 & }
stop() { kill -$1 $!; wait $!; echo "holder: stopped" >>"$folder/log"; }
while read -r word; do case $word in start) start "$@" ;; fast) stop INT ;; immediate) stop QUIT ;; esac; done
stop INT
rm -rf "$folder"
`;

/**
 * Starts a private server of the major version, which must be one that {@link postgresBinaries} finds.
 * @param how Durable commits and the server's own defaults, or the settings that are fastest for tests.
 */
export async function startPostgres(version: number, how: "fast" | "durable" = "fast"): Promise<PostgresServer> {
  const user = otherUser();
  const folder = mkdtempSync(join(tmpdir(), `owed-postgres-${version}-`));
  const port = await freePort();
  let binaries: string;

  try {
    binaries = postgresBinaries(version, folder, user !== undefined);
    chmodSync(folder, 0o700);
    if (user) execFileSync("chown", ["-R", `${user.uid}:${user.gid}`, folder]);
    const options = ["-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"];
    const initdb = ["-D", join(folder, "data"), "-U", "postgres", ...options];
    await run(join(binaries, "initdb"), initdb, { ...user, cwd: folder });
  } catch (error) {
    rmSync(folder, { recursive: true, force: true });
    throw error;
  }

  const settings = how === "fast" ? [...common, ...fast] : common;
  const args = [binaries, folder, "-p", `${port}`, ...settings.flatMap((setting) => ["-c", setting])];
  const shell = spawn("/bin/sh", ["-c", holder, "sh", ...args], {
    ...user,
    cwd: folder,
    detached: true, // out of reach of the Ctrl-C that ends us: we stop the server, in order
    env: { ...env, LC_ALL: "C" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  const exited = once(shell, "exit");

  async function start(): Promise<void> {
    const log = logFromNow();
    shell.stdin.write("start\n");
    const ready = () => readText(join(folder, "data/postmaster.pid")).split("\n")[7]?.trim() === "ready";
    // While it recovers it turns clients away with FATAL, which is no reason to give up.
    const refused = () => /FATAL: +(?! |the database system is)|PANIC|not found|cannot execute/.test(log());
    await waitFor(() => ready() || refused(), { what: `Postgres ${version} to start`, timeoutMs: 60_000 });
    if (!ready()) throw new Error(`Cannot start Postgres ${version} from ${binaries}:\n${log()}`);
  }

  async function stop(how: "fast" | "immediate" = "fast"): Promise<void> {
    const log = logFromNow();
    shell.stdin.write(`${how}\n`);
    await waitFor(() => log().includes("holder: stopped"), { what: `Postgres ${version} to stop`, timeoutMs: 60_000 });
  }

  async function remove(): Promise<void> {
    shell.stdin.end();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  }

  function logFromNow(): () => string {
    const { length } = readText(join(folder, "log"));
    return () => readText(join(folder, "log")).slice(length);
  }

  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  return { version, port, url, start, stop, [Symbol.asyncDispose]: remove };
}

const common = [
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=200",
  "timezone=UTC",
];
// Without fsync a crash of the server loses nothing; only a crash of the machine would.
const fast = ["fsync=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0"];

// Postgres refuses to run as root.
function otherUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

async function run(
  command: string,
  args: string[],
  options: { cwd: string; uid?: number; gid?: number },
) {
  const child = spawn(command, args, { ...options, env: { ...env, LC_ALL: "C" }, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk) => output += chunk);
  }
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`${command} ended with ${code}:\n${output}`);
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
