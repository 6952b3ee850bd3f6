import type { ScopeValues } from "./ambient.ts";

/** What becomes of a suppressed event. */
export interface Suppression {
  readonly reason: string;
  /** False: it is not even recorded. */
  readonly record: boolean;
}

/**
 * How the blocks around a fire suppress an event, if they do: the innermost reason counts, and no inner block undoes
 * an outer one that discards.
 */
export function suppressionOf(scope: ScopeValues, eventName: string): Suppression | undefined {
  const matching = scope.suppressions.filter(({ names }) => names === undefined || names.has(eventName));
  const innermost = matching.at(-1);
  if (innermost === undefined) return undefined;
  return { reason: innermost.reason, record: matching.every(({ record }) => record) };
}
