import { commandLine, type Message, message } from "@optique/core/message";
import { optional } from "@optique/core/modifiers";
import type { Parser } from "@optique/core/parser";
import { argument, option } from "@optique/core/primitives";
import { integer, string, type ValueParser } from "@optique/core/valueparser";
import { path } from "@optique/run/valueparser";
import type { Duration } from "../duration.ts";
import { commandNames } from "./command_names.ts";

/** The application, as every command takes it. */
export function appArgument(): Parser<"sync", string | undefined, unknown> {
  const plain = path({ metavar: "APP" });
  const value: ValueParser<"sync", string> = {
    ...plain,
    // A misplaced command must not pass for a module; one of such a name is "./status".
    parse: (input) =>
      commandNames.includes(input)
        ? { success: false, error: message`${input} is a command and comes first: ${commandLine(`relay ${input}`)}` }
        : plain.parse(input),
  };
  return optional(argument(value, {
    description:
      message`Path or URL of the module that exports the outbox; the example shop of this package unless given.`,
  }));
}

/** An option that takes a whole number. */
export function integerOption(
  name: `--${string}`,
  limits: { readonly min: number; readonly max?: number },
  description: Message,
): Parser<"sync", number | undefined, unknown> {
  return optional(option(name, integer({ metavar: "N", ...limits }), { description }));
}

/** An option that takes a word. */
export function wordOption(name: `--${string}`, description: Message): Parser<"sync", string | undefined, unknown> {
  return optional(option(
    name,
    string({
      metavar: "NAME",
      pattern: /\S/,
      errors: { patternMismatch: message`Expected a name, but got an empty one.` },
    }),
    { description },
  ));
}

/** An option that takes a length of time: seconds, or a number with its unit. */
export function durationOption(
  name: `--${string}`,
  description: Message,
): Parser<"sync", Duration | undefined, unknown> {
  return optional(option(name, duration, { description }));
}

const UNITS = { ms: "milliseconds", s: "seconds", m: "minutes", h: "hours" } as const;

const duration: ValueParser<"sync", Duration> = {
  mode: "sync",
  metavar: "DURATION",
  placeholder: { seconds: 1 },
  parse(input) {
    const [, amount, unit = "s"] = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/.exec(input) ?? [];
    if (amount === undefined || Number(amount) === 0) {
      const error = message`Expected seconds above 0, or a duration such as ${"30s"} or ${"2m"}, but got ${input}.`;
      return { success: false, error };
    }
    return { success: true, value: { [UNITS[unit as keyof typeof UNITS]]: Number(amount) } };
  },
  format: (value) => Object.entries(value).map(([unit, amount]) => `${amount} ${unit}`).join(" "),
};
