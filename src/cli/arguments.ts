import { longestMatch } from "@optique/core/constructs";
import { runParser as runCommandLine } from "@optique/core/facade";
import { formatMessage, message, text } from "@optique/core/message";
import process from "node:process";
import { commandNames } from "./command_names.ts";
import { type MigrateArguments, migrateParser } from "./commands/migrate.ts";
import { type RunArguments, runParser } from "./commands/run.ts";
import { type StatusArguments, statusParser } from "./commands/status.ts";
import { examples } from "./examples.ts";
import { Misused } from "./exit_codes.ts";
import { hasColors, widthOf } from "./terminal.ts";

/** What the command line asks for. `shown` is text to print and no more: a help page, a completion script. */
export type Arguments = RunArguments | MigrateArguments | StatusArguments | {
  readonly command: "shown";
  readonly text: string;
};

/**
 * Reads the command line.
 *
 * @throws {Misused} saying what cannot be read and where the help is
 */
export function readArguments(args: readonly string[]): Arguments {
  const shown: string[] = [];
  const show = () => ({ command: "shown" as const, text: shown.join("\n") });
  const width = widthOf(process.stdout);
  const line = withCommand(args);
  return runCommandLine(longestMatch(runParser, migrateParser, statusParser), "relay", line, {
    help: { option: { names: ["-h", "--help"] }, onShow: show },
    completion: { command: true, onShow: show },
    brief: message`Pays what an application's outbox owes.`,
    description: message`APP is the module that exports the outbox, as ${
      text("outbox")
    } or by default: an outbox that is \
bound to its storage, or a function that makes one from a storage. For a function DATABASE_URL picks the database: \
${
      text(ADDRESSES)
    }. Without it that is the libSQL file owed.db in the working directory, which is migrated unasked, as is \
:memory:. OWED_LOG sets the level of the log (info). NO_COLOR is respected.`,
    examples: examples(
      ["relay ./shop/outbox.ts", "pays until a signal; relay run --help tells the options"],
      ["relay migrate ./shop/outbox.ts", "before a release"],
      ["relay status ./shop/outbox.ts", "what is owed, and for how long"],
    ),
    footer: message`Exit codes: 0 done, 1 failed, 2 a wrong command line or environment variable, 4 the database does \
not answer, 128 + signal at a second signal (130, 143).`,
    colors: hasColors(process.stdout),
    ...(width === undefined ? {} : { maxWidth: width }),
    aboveError: "none",
    stdout: (page) => void shown.push(page),
    stderr: () => {},
    onError: (_code, error) => {
      const said = formatMessage(error, { colors: false, quotes: true }).replaceAll(/\s*\n\s*/g, " ");
      const page = commandNames.includes(line[0] ?? "") && line[0] !== "completion" ? `relay ${line[0]}` : "relay";
      throw new Misused(`${said.replace(/[.!]$/, "")}; see ${page} --help`);
    },
  }) as Arguments;
}

const ADDRESSES = "postgres://..., file:..., :memory:, libsql://..., http(s)://... or ws(s)://...";

/** Puts in the command that is meant when none is named. While a first word is being completed it may become one. */
function withCommand(args: readonly string[], isCompleting = false): readonly string[] {
  const [first, ...rest] = args;
  if (first === "completion") return [first, ...rest.slice(0, 1), ...withCommand(rest.slice(1), true)];
  if (commandNames.includes(first ?? "") || first === "--help" || first === "-h") return args;
  if (isCompleting && rest.length === 0 && !first?.startsWith("-")) return args;
  return ["run", ...args];
}
