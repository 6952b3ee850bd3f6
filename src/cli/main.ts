import { type Arguments, readArguments } from "./arguments.ts";
import { migrate } from "./commands/migrate.ts";
import { run } from "./commands/run.ts";
import { status } from "./commands/status.ts";
import { surviveDriverCrashes } from "./crashes.ts";
import { exitCodes } from "./exit_codes.ts";
import { reportFailure } from "./failures.ts";
import { logLevel } from "./logging.ts";
import { give } from "./output.ts";
import { onStop } from "./signals.ts";

/** The command: reads the arguments, does what they ask. Returns the exit code and never throws. */
export async function main(args: readonly string[]): Promise<number> {
  try {
    logLevel(); // a wrong one is told before anything happens
    return await perform(readArguments(args));
  } catch (error) {
    return reportFailure(error);
  }
}

async function perform(args: Arguments): Promise<number> {
  if (args.command === "shown") {
    await give(args.text);
    return exitCodes.ok;
  }
  using _crashes = surviveDriverCrashes();
  if (args.command === "run") {
    const stop = new AbortController();
    using _signals = onStop(() => stop.abort());
    await run(args, stop.signal);
  } else {
    await (args.command === "migrate" ? migrate(args) : status(args));
  }
  return exitCodes.ok;
}
