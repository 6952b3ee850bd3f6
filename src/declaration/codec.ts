import type { AnyEventDefinition } from "./event.ts";
import type { Json } from "./json.ts";
import type { SchemaIssue, SchemaResult } from "./schema.ts";

/** Why a stored payload cannot be given to a receiver. Retrying cannot help, so the delivery is dead at once. */
export class PayloadUndecodable extends Error {
  override readonly name = "PayloadUndecodable";
  /** Where in the payload; empty for the payload itself. */
  readonly path: string;
  /** What was expected there and what type it found. */
  readonly reason: string;

  constructor(eventName: string, path: string, reason: string) {
    super(`Cannot decode event "${eventName}": the payload${path === "" ? "" : ` at ${path}`} ${reason}`);
    this.path = path;
    this.reason = reason;
  }
}

/** The declaration's `upgrade` threw, or returned nothing. */
export class PayloadUpgradeFailed extends Error {
  override readonly name = "PayloadUpgradeFailed";
}

/**
 * A stored payload as a receiver gets it: upgraded when it is older than the declaration, parsed by the schema,
 * deeply frozen. The one way in, for the relay, the inline receivers and the test helpers alike. A promise only when
 * the schema's validator is asynchronous.
 *
 * @throws {PayloadUndecodable | PayloadUpgradeFailed} naming the path, what was expected and the type, never the value
 */
export function decodePayload(
  definition: AnyEventDefinition,
  text: string,
  version: number,
): unknown | Promise<unknown> {
  const raw = storedPayload(definition, text, version);
  if (definition.schema === undefined) return deepFreeze(raw);
  const result = definition.schema["~standard"].validate(raw);
  if (result instanceof Promise) return result.then((settled) => valueOf(definition, raw, settled));
  return valueOf(definition, raw, result);
}

/**
 * A stored payload as it would be fired today: upgraded when it is older, and not parsed by the schema. What may be shown
 * is made from this, since the private paths name its parts.
 *
 * @throws {PayloadUndecodable | PayloadUpgradeFailed} as for {@linkcode decodePayload}
 */
export function storedPayload(definition: AnyEventDefinition, text: string, version: number): unknown {
  return upgraded(definition, parse(definition.name, text), version);
}

function parse(eventName: string, text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the text.
    throw new PayloadUndecodable(eventName, "", "must be JSON, got text that is not");
  }
}

function upgraded(definition: AnyEventDefinition, payload: Json, version: number): unknown {
  if (definition.upgrade === undefined || version >= definition.version) return payload;
  const step = `event "${definition.name}" from version ${version} to ${definition.version}`;
  let result: unknown;
  try {
    result = definition.upgrade(payload, version);
  } catch (error) {
    throw new PayloadUpgradeFailed(`Cannot upgrade ${step}: its upgrade threw ${nameOf(error)}`, { cause: error });
  }
  if (result === undefined || typeof result === "function" || result instanceof Promise) {
    const returned = result instanceof Promise ? "a promise" : typeof result;
    throw new PayloadUpgradeFailed(
      `Cannot upgrade ${step}: its upgrade must return the payload, it returned ${returned}`,
    );
  }
  return result;
}

function valueOf(definition: AnyEventDefinition, raw: unknown, result: SchemaResult<unknown>): unknown {
  if (result.issues === undefined) return deepFreeze(result.value);
  const [first] = result.issues;
  if (first === undefined) throw new PayloadUndecodable(definition.name, "", "was refused by its schema");
  const { path, at } = walk(first, raw);
  // Never the validator's own message: some quote the value in it.
  const { expected } = first as { expected?: unknown };
  const wanted = typeof expected === "string" && expected !== "" ? expected : "what its schema says";
  const more = result.issues.length > 1 ? ` (and ${result.issues.length - 1} more)` : "";
  throw new PayloadUndecodable(definition.name, path, `must be ${wanted}, got ${typeOf(at)}${more}`);
}

function walk(issue: SchemaIssue, payload: unknown): { path: string; at: unknown } {
  let path = "";
  let at = payload;
  for (const part of issue.path ?? []) {
    const key = typeof part === "object" ? part.key : part;
    path += typeof key === "number" ? `[${key}]` : `${path === "" ? "" : "."}${String(key)}`;
    at = typeof at === "object" && at !== null && Object.hasOwn(at, key)
      ? (at as Record<PropertyKey, unknown>)[key]
      : undefined;
  }
  return { path, at };
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  return value === undefined ? "nothing" : typeof value === "object" ? "an object" : `a ${typeof value}`;
}

function nameOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : `a ${typeof error}`;
}

// Only what JSON makes: a Date or a class instance that a schema built is the receiver's own anyway.
function deepFreeze<T>(value: T, frozen?: Set<object>): T {
  if (typeof value !== "object" || value === null) return value;
  const prototype = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype && prototype !== null) return value;
  // A schema may freeze what it returns, and that alone; or return what leads back to itself.
  if (Object.isFrozen(value)) {
    if (frozen?.has(value)) return value;
    (frozen ??= new Set()).add(value);
  }
  Object.freeze(value);
  for (const inner of Object.values(value)) deepFreeze(inner, frozen);
  return value;
}
