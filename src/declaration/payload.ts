import { PayloadRefused } from "../errors.ts";

/** What a payload may take up. */
export interface PayloadLimits {
  /** Bytes of its JSON text in UTF-8. */
  readonly maxBytes: number;
  /** Arrays and objects inside each other. */
  readonly maxDepth: number;
}

const encoder = new TextEncoder();

/**
 * The JSON text of a payload, after every value in it was found to be one that JSON carries unchanged.
 *
 * @throws {PayloadRefused} naming the path, what was expected and the type received; never the value
 */
export function encodePayload(eventName: string, payload: unknown, limits: PayloadLimits): string {
  check(payload, eventName, "", [], limits.maxDepth);
  const text = JSON.stringify(payload);
  // A UTF-16 unit takes at most three bytes, so that most payloads need no count.
  if (text.length * 3 > limits.maxBytes) {
    const bytes = encoder.encode(text).length;
    if (bytes > limits.maxBytes) {
      throw new PayloadRefused(
        eventName,
        "",
        `takes ${bytes} bytes, expected at most ${limits.maxBytes}: fire a fact, not a copy of the object`,
      );
    }
  }
  return text;
}

function check(value: unknown, eventName: string, path: string, above: readonly object[], maxDepth: number): void {
  switch (typeof value) {
    case "boolean":
      return;
    case "string":
      return checkString(value, eventName, path);
    case "number":
      if (Number.isFinite(value)) return;
      throw new PayloadRefused(
        eventName,
        path,
        `must be a finite number, got ${Number.isNaN(value) ? "NaN" : "Infinity"}`,
      );
    case "object":
      if (value === null) return;
      return checkContainer(value, eventName, path, above, maxDepth);
    case "bigint":
      throw new PayloadRefused(eventName, path, "must be JSON, got a bigint: fire it as a string");
    default:
      throw new PayloadRefused(
        eventName,
        path,
        `must be JSON, got ${typeof value === "undefined" ? "undefined" : `a ${typeof value}`}`,
      );
  }
}

function checkContainer(
  value: object,
  eventName: string,
  path: string,
  above: readonly object[],
  maxDepth: number,
): void {
  if (above.includes(value)) throw new PayloadRefused(eventName, path, "must be a tree, got a cycle");
  if (above.length >= maxDepth) {
    throw new PayloadRefused(eventName, path, `must nest at most ${maxDepth} deep, got a deeper one`);
  }
  const inside = [...above, value];
  if (Array.isArray(value)) {
    // By index, so that a hole is seen as the undefined that it would not stay.
    for (let i = 0; i < value.length; i++) check(value[i], eventName, `${path}[${i}]`, inside, maxDepth);
    return;
  }
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) {
    const type = prototype?.constructor?.name;
    throw new PayloadRefused(eventName, path, `must be JSON, got ${type ? `a ${type}` : "an object of a class"}`);
  }
  if (Object.getOwnPropertySymbols(value).length > 0) {
    throw new PayloadRefused(eventName, path, "must be JSON, got an object with a symbol as a key");
  }
  for (const key of Object.keys(value)) {
    const at = /^[A-Za-z_$][\w$]*$/.test(key)
      ? (path === "" ? key : `${path}.${key}`)
      : `${path}[${JSON.stringify(key)}]`;
    checkString(key, eventName, at);
    check((value as Record<string, unknown>)[key], eventName, at, inside, maxDepth);
  }
}

function checkString(text: string, eventName: string, path: string): void {
  // Postgres can store neither, and both would abort the caller's transaction there alone.
  if (text.includes("\0")) throw new PayloadRefused(eventName, path, "must have no NUL character, got one");
  if (!text.isWellFormed()) {
    throw new PayloadRefused(eventName, path, "must be well-formed Unicode, got a lone surrogate");
  }
}
