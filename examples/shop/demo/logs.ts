/** Reads what the library logs, which is what any application does with it: by a LogTape sink. */
import { configure } from "@logtape/logtape";

/** The warnings so far, as a console would show them. */
export const warnings: string[] = [];

export function readLogs(): Promise<void> {
  return configure({
    sinks: {
      warnings: ({ level, message }) => void (level === "warning" && warnings.push(message.map(String).join(""))),
    },
    loggers: [
      { category: "owed", sinks: ["warnings"], lowestLevel: "warning" },
      { category: ["logtape", "meta"], sinks: [] },
    ],
  });
}
