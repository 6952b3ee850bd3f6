import process from "node:process";
import { errorType, logger } from "../log.ts";
import { exitCodes } from "./exit_codes.ts";
import { say } from "./output.ts";

/**
 * Survives what postgres.js throws where nobody can catch it: when the server goes away under an open transaction, it
 * writes to a socket that is gone, from a callback of its own. The storage notices the lost connection and replaces the
 * pool. Anything else ends the process: it would go on in a state that nobody knows.
 */
export function surviveDriverCrashes(): Disposable {
  const handle = (error: unknown) => {
    if (isDriverCrash(error)) {
      logger(["relay"]).warn("postgres.js lost a connection and threw {error}; the relay goes on", {
        error: errorType(error),
      });
      return;
    }
    say(`relay: an exception that nobody caught: ${error instanceof Error ? error.stack : String(error)}`);
    process.exit(exitCodes.failed);
  };
  process.on("uncaughtException", handle);
  return { [Symbol.dispose]: () => void process.off("uncaughtException", handle) };
}

const RUNTIME_FRAME = /\b(ext|node|native|internal):|\(native\)|<anonymous>\)?$/;
const DRIVER_FRAME = /\bpostgres\b.*[\\/]connection\.js:/;
const SOCKET_CODES: readonly unknown[] = ["ECONNRESET", "EPIPE", "ETIMEDOUT", "ECONNABORTED"];

/**
 * Whether it was thrown by the connection of postgres.js, or is the error of a socket that nobody listens to any more.
 * Code of the application's on the stack makes it the application's error.
 */
export function isDriverCrash(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const innermost = frames.find((frame) => !RUNTIME_FRAME.test(frame));
  if (innermost === undefined) return SOCKET_CODES.includes((error as { code?: unknown }).code);
  return DRIVER_FRAME.test(innermost);
}
