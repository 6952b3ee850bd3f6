/** Prints what the demo claims, each with a tick or a cross. */
import process from "node:process";
import { inspect, styleText } from "node:util";

const startedAt = performance.now();
let steps = 0;
let held = 0;
let broken = 0;

const colourful = process.stdout.isTTY && !process.env.NO_COLOR;
const paint = (style: Parameters<typeof styleText>[0], text: string) =>
  colourful ? styleText(style, text, { validateStream: false }) : text;

export function title(text: string, detail: string): void {
  console.log(`\n${paint("bold", text)}\n${paint("dim", detail)}`);
}

/** Begins a step; `file` is where the shop does it. */
export function step(text: string, file: string): void {
  console.log(`\n${paint("dim", `${++steps}.`.padStart(3))} ${paint("bold", text)} ${paint("dim", `(${file})`)}`);
}

/** States a claim and whether it is true; `found` is shown when it is not. */
export function claim(text: string, isTrue: boolean, found?: unknown): void {
  if (isTrue) held++;
  else broken++;
  const mark = isTrue ? paint("green", "✓") : paint("red", "✗");
  const instead = isTrue || found === undefined
    ? ""
    : paint("red", `; found ${inspect(found, { breakLength: Infinity })}`);
  console.log(`    ${mark} ${text}${instead}`);
}

/** Prints the last line, and has the process exit with 1 if a claim was false. Returns whether all were true. */
export function conclude(): boolean {
  const isTrue = broken === 0;
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  const counts = `${held} claims hold, ${broken} ${broken === 1 ? "is" : "are"} false`;
  console.log(`\n${paint(["bold", isTrue ? "green" : "red"], counts)} ${paint("dim", `(${seconds} s)`)}\n`);
  if (!isTrue) process.exitCode = 1;
  return isTrue;
}
