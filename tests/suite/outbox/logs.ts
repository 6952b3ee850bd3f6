import { configure, type LogRecord } from "@logtape/logtape";

/** What the library logged. */
export class Logs {
  readonly records: LogRecord[] = [];

  /** The lines of a level, as a sink would print them. */
  lines(level: LogRecord["level"], category?: string): string[] {
    return this.records
      .filter((record) => record.level === level && (category === undefined || record.category[1] === category))
      .map((record) => record.message.map(String).join(""));
  }

  /** Everything that any sink could print. */
  get everything(): string {
    return this.records.map((record) => `${record.message.map(String).join("")} ${shown(record.properties)}`).join(
      "\n",
    );
  }
}

function shown(properties: Record<string, unknown>): string {
  return Object.entries(properties).map(([name, value]) => `${name}=${String(value)}`).join(" ");
}

/** Records from now on, instead of whatever recorded before. */
export async function recordLogs(): Promise<Logs> {
  const logs = new Logs();
  await configure({
    sinks: { record: (record) => void logs.records.push(record) },
    loggers: [
      { category: "owed", sinks: ["record"], lowestLevel: "debug" },
      { category: ["logtape", "meta"], sinks: [], lowestLevel: "fatal" },
    ],
    reset: true,
  });
  return logs;
}
