import { getLogger, type Logger } from "@logtape/logtape";

export type { Logger } from "@logtape/logtape";

/**
 * The library's logger for a room, in LogTape's category `["owed", ...]`. The library never configures LogTape: without
 * a sink of the application's nothing is printed.
 */
export function logger(room: readonly string[]): Logger {
  return getLogger(["owed", ...room]);
}

/** What a log line shows of an error: its class and code, never its message, which may hold a payload or a password. */
export function errorType(error: unknown): string {
  try {
    if (!(error instanceof Error)) return error === null ? "null" : `a thrown ${typeof error}`;
    const { code } = error as { code?: unknown };
    const name = String(error.name || error.constructor.name);
    return typeof code === "string" ? `${name} (${code})` : name;
  } catch {
    // Whatever a receiver throws, logging it must not throw.
    return "an unreadable error";
  }
}
