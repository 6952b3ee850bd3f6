import { spawn } from "node:child_process";
import { once } from "node:events";
import process, { env, execPath, versions } from "node:process";
import { createInterface } from "node:readline";
import { waitFor } from "./wait_for.ts";

export type Runtime = "deno" | "bun";

/** The runtime that runs this test. */
export const thisRuntime: Runtime = versions.bun ? "bun" : "deno";

/** Where to find the executable; the tasks name both, a test that runs without them knows its own. */
export function runtimePath(runtime: Runtime): string {
  const named = env[`OWED_TEST_${runtime.toUpperCase()}`];
  if (named) return named;
  if (runtime === thisRuntime) return execPath;
  throw new Error(
    `OWED_TEST_${runtime.toUpperCase()} must be set, and the tasks set it: run \`deno task test:deno <file>\``,
  );
}

export interface Exit {
  code: number | null;
  signal: string | null;
}

export interface StartedProcess extends AsyncDisposable {
  readonly pid: number;
  /** The lines so far, in the order of arrival. */
  readonly stdout: readonly string[];
  readonly stderr: readonly string[];
  readonly exited: Promise<Exit>;
  /** The first line of either stream that contains the text or matches; fails at once if the process ends before. */
  line(pattern: string | RegExp, options?: { timeoutMs?: number }): Promise<string>;
  kill(signal?: NodeJS.Signals): void;
  /** Writes to the standard input. */
  write(text: string): void;
}

export interface StartOptions {
  runtime?: Runtime;
  args?: string[];
  env?: Record<string, string>;
  cwd?: string;
  /** Deno's permission flags; all by default. */
  permissions?: string[];
}

/** Runs a TypeScript file in a process of its own, which is killed at the end of the `await using` scope. */
export function startProcess(script: string | URL, options: StartOptions = {}): StartedProcess {
  const { runtime = thisRuntime, args = [], permissions = ["-A"] } = options;
  const path = script instanceof URL ? script.pathname : script;
  const before = runtime === "deno" ? ["run", "--no-check", "--quiet", ...permissions] : ["run"];
  const child = spawn(runtimePath(runtime), [...before, path, ...args], {
    cwd: options.cwd,
    env: { ...env, NO_COLOR: "1", ...options.env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  const stdout: string[] = [];
  const stderr: string[] = [];
  const all: string[] = [];
  let exit: Exit | undefined;
  const collect = (stream: NodeJS.ReadableStream, lines: string[]) =>
    createInterface({ input: stream }).on("line", (line) => {
      lines.push(line);
      all.push(line);
    });
  collect(child.stdout, stdout);
  collect(child.stderr, stderr);
  child.stdin.on("error", () => {}); // a process that has ended takes no more input
  const exited = once(child, "close").then(([code, signal]) => exit = { code, signal });
  const matches = (line: string, pattern: string | RegExp) =>
    typeof pattern === "string" ? line.includes(pattern) : pattern.test(line);

  return {
    pid: child.pid ?? 0,
    stdout,
    stderr,
    exited,
    // Not child.kill(): under Deno it reports the signal as the end of a process that caught it and exited by itself.
    kill: (signal = "SIGKILL") => void process.kill(child.pid!, signal),
    write: (text) => void child.stdin.write(text),
    async line(pattern, { timeoutMs } = {}) {
      const found = () => all.find((line) => matches(line, pattern));
      const what = `a line with ${pattern} from ${path} (${runtime})`;
      const seen = () => `it wrote:\n${all.join("\n")}`;
      await waitFor(() => found() !== undefined || exit, { what, ...(timeoutMs ? { timeoutMs } : {}) })
        .catch((error: Error) => Promise.reject(new Error(`${error.message}; ${seen()}`)));
      const line = found();
      if (line === undefined) {
        throw new Error(`Ended with ${JSON.stringify(exit)} before ${what}; ${seen()}`);
      }
      return line;
    },
    async [Symbol.asyncDispose]() {
      if (!exit) child.kill("SIGKILL");
      await exited;
    },
  };
}
