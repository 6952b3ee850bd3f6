/** Relays as they run in production: a process of their own, here of the runtime that runs the demo. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";

export interface RelayProcess extends AsyncDisposable {
  /** All that it has written. */
  readonly output: string;
  /** Sends the signal and waits for the end. Returns the exit code; null when the signal killed it. */
  end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null>;
}

const started: RelayProcess[] = [];

/** What all of them have written, for when something went wrong. */
export function relayOutput(): string {
  return started.map(({ output }) => output).join("\n");
}

/** `deno run -A relay.ts <app>`, or `bun relay.ts <app>`. */
export function startRelay(app: string, env: Readonly<Record<string, string | undefined>>): RelayProcess {
  const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
  const before = process.versions.bun ? [] : ["run", "-A"];
  const child = spawn(process.execPath, [...before, path("../../../relay.ts"), path(app)], {
    env: { ...process.env, NO_COLOR: "1", ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const exited = once(child, "exit");
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => output += text);

  const end = async (signal: NodeJS.Signals): Promise<number | null> => {
    // Not by child.kill(): Deno then reports the signal as the end, whatever the process made of it.
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid!, signal);
    return (await exited)[0];
  };
  const relay: RelayProcess = {
    get output() {
      return output;
    },
    end,
    [Symbol.asyncDispose]: async () => void await end("SIGKILL"),
  };
  started.push(relay);
  return relay;
}
