import { constants } from "node:os";
import process from "node:process";
import { logger } from "../log.ts";
import { say } from "./output.ts";

type Signal = "SIGTERM" | "SIGINT" | "SIGBREAK";

const STOPPING: readonly Signal[] = process.platform === "win32" ? ["SIGINT", "SIGBREAK"] : ["SIGTERM", "SIGINT"];

/**
 * Calls back at the first signal that asks the process to stop; at the second it exits at once with 128 and the
 * signal's number. Handlers that were there (an application's own) are put aside, so that they cannot end the process
 * while receivers run, and come back at the end of the scope.
 */
export function onStop(stop: () => void): Disposable {
  let stopping = false;
  const handle = (signal: Signal) => {
    if (stopping) {
      say(`relay: leaving at once at a second signal (${signal}); what was running comes back by its lease`);
      process.exit(128 + (constants.signals[signal] ?? 0));
    }
    stopping = true;
    logger(["relay"]).info("stopping at {signal}: what runs finishes, the rest is handed back", { signal });
    stop();
  };
  const handlers = STOPPING.map((signal) => {
    const before = process.rawListeners(signal) as ((signal: NodeJS.Signals) => void)[];
    const own = () => handle(signal);
    // Never without a handler in between: the signal's own effect is to end the process.
    process.on(signal, own);
    for (const listener of before) process.off(signal, listener);
    return { signal, before, own };
  });
  return {
    [Symbol.dispose]() {
      for (const { signal, before, own } of handlers) {
        for (const listener of before) process.on(signal, listener);
        process.off(signal, own);
      }
    },
  };
}
