import { DatabaseUnreachable } from "../errors.ts";

/** How the command ends. A second signal ends it with 128 and the signal's number. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  unreachable: 4,
} as const;

/** Thrown for what the one who called the command has to put right: arguments and environment variables. */
export class Misused extends Error {
  override readonly name = "Misused";
}

/** The exit code for an error that ended the command. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof Misused) return exitCodes.usage;
  if (error instanceof DatabaseUnreachable) return exitCodes.unreachable;
  return exitCodes.failed;
}
