import { lineBreak, type Message, text } from "@optique/core/message";

type Example = readonly [line: string, use: string];

/** Example command lines for a help page, each with when to use it. */
export function examples(...all: readonly Example[]): Message {
  const width = Math.max(...all.map(([line]) => line.length));
  return all.flatMap(([line, use], index) => [
    ...(index === 0 ? [] : [lineBreak()]),
    text(`${line.padEnd(width)}  ${use}`),
  ]);
}

/** The same below the options of a command, where the help has no place of its own for them. */
export function exampleFooter(...all: readonly Example[]): Message {
  return [text("Examples:"), lineBreak(), ...examples(...all.map(([line, use]) => [`  ${line}`, use] as const))];
}
