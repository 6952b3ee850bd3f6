import {
  configure,
  getAnsiColorFormatter,
  getConfig,
  getJsonLinesFormatter,
  getLogLevels,
  getTextFormatter,
  type LogLevel,
  type TextFormatter,
} from "@logtape/logtape";
import process from "node:process";
import { Misused } from "./exit_codes.ts";
import { say } from "./output.ts";
import { hasColors, isTerminal } from "./terminal.ts";

/** Reads `OWED_LOG`: the lowest level that is shown, or null for none. */
export function logLevel(): LogLevel | null {
  const given = process.env.OWED_LOG || "info";
  if (given === "off") return null;
  const levels: readonly string[] = getLogLevels();
  const level = given === "warn" ? "warning" : given.toLowerCase();
  if (levels.includes(level)) return level as LogLevel;
  throw new Misused(`Cannot use OWED_LOG="${given}": expected one of ${levels.join(", ")}, off`);
}

/**
 * Shows log records on the standard error, the application's own included: a line for a reader on a terminal, a line of
 * JSON elsewhere. An application that has configured LogTape while it loaded keeps what it configured.
 */
export async function showLogs(level: LogLevel | null): Promise<void> {
  if (getConfig() !== null) return;
  const format = formatter();
  await configure({
    sinks: { stderr: (record) => say(format(record).trimEnd()) },
    loggers: [
      { category: [], lowestLevel: level, sinks: ["stderr"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", parentSinks: "override", sinks: ["stderr"] },
    ],
  });
}

function formatter(): TextFormatter {
  if (!isTerminal(process.stderr)) return getJsonLinesFormatter();
  const options = { timestamp: "time", timeZone: null, category: ".", value: "bare" } as const;
  return hasColors(process.stderr) ? getAnsiColorFormatter(options) : getTextFormatter(options);
}
