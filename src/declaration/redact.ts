import type { AnyEventDefinition } from "./event.ts";

/** What stands in the place of a private value. */
export const REDACTED = "[private]";

/** A copy of a payload that may be shown: values at the event's private paths are replaced. */
export function redact(definition: AnyEventDefinition | undefined, payload: unknown): unknown {
  return (definition?.private ?? []).reduce((value: unknown, path) => without(value, stepsOf(path)), payload);
}

/** The steps of a path: `lines[].name` is lines, every element, name. */
function stepsOf(path: string): string[] {
  return path.replaceAll("[]", ".[]").split(".").filter((step) => step !== "");
}

function without(value: unknown, [step, ...rest]: readonly string[]): unknown {
  if (step === undefined) return REDACTED;
  if (typeof value !== "object" || value === null) return value;
  if (step === "[]") return Array.isArray(value) ? value.map((one) => without(one, rest)) : value;
  // Not hasOwn: the length of a list is no value of the payload.
  if (!Object.prototype.propertyIsEnumerable.call(value, step)) return value;
  const inner = without((value as Record<string, unknown>)[step], rest);
  return Array.isArray(value) ? value.with(Number(step), inner) : { ...value, [step]: inner };
}
