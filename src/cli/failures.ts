import { stripVTControlCharacters } from "node:util";
import { DatabaseUnreachable } from "../errors.ts";
import { logger } from "../log.ts";
import { exitCodeOf } from "./exit_codes.ts";
import { say } from "./output.ts";

/** Tells what ended the command, in one line. Returns the exit code. */
export function reportFailure(error: unknown): number {
  say(`relay: ${sentenceOf(error)}`);
  const stack = stackOf(error);
  if (stack !== undefined) logger(["cli"]).debug("{stack}", { stack });
  return exitCodeOf(error);
}

/** What the error says and, where a driver's error is behind it, what that said. */
export function sentenceOf(error: unknown): string {
  const said = textOf(error);
  const cause = error instanceof Error && error.cause !== undefined ? textOf(error.cause) : "";
  const hint = error instanceof DatabaseUnreachable ? ", and that DATABASE_URL is right" : "";
  return oneLine(cause === "" || said.includes(cause) ? said + hint : `${said}${hint} (${cause})`);
}

function textOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return textOf(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  return error.message || (typeof code === "string" ? code : error.name);
}

function stackOf(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  return error.cause instanceof Error ? `${error.stack}\ncaused by ${error.cause.stack}` : error.stack;
}

function oneLine(text: string): string {
  return stripVTControlCharacters(text).trim().replaceAll(/\s*\n\s*/g, " ");
}
