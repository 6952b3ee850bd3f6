import { isDeepStrictEqual } from "node:util";

/** Some of the values of a payload. */
export type PartOf<T> = T extends readonly (infer Element)[] ? readonly PartOf<Element>[]
  : T extends object ? { readonly [Key in keyof T]?: PartOf<T[Key]> }
  : T;

/** Whether a value has everything that a part of it names. Lists have the same length; anything else is equal. */
export function matches(value: unknown, part: unknown): boolean {
  if (Array.isArray(part)) {
    return Array.isArray(value) && value.length === part.length && part.every((one, i) => matches(value[i], one));
  }
  if (!isPlain(part)) return isDeepStrictEqual(value, part);
  return typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.entries(part).every(([key, one]) => matches((value as Record<string, unknown>)[key], one));
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
