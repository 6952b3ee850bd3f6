import type { Json, JsonOf } from "./json.ts";
import { refuseUnknown, requireName } from "./refusals.ts";
import { type Retention, type StoredRetention, storedRetention } from "./retention.ts";
import type { InputOf, OutputOf, StandardSchema } from "./schema.ts";

/** Options of {@linkcode event}. */
export interface EventOptions<Output, Schema extends StandardSchema | undefined = undefined> {
  /** The payload's version, a whole number from 1 to 32767; stored on every row. Default 1. */
  readonly version?: number;
  /** Any Standard Schema. It validates at fire, and parses again for every attempt. Default: any JSON. */
  readonly schema?: Schema;
  /**
   * The aggregate id that orders and partitions, from the payload as a receiver sees it. Not blank, at most 255
   * characters; what it throws comes out of `fire`.
   */
  readonly key?: (payload: Output) => string;
  /** The topic under which the fact is to leave the database; stored on the event's row. Nothing publishes it yet. */
  readonly topic?: string;
  /** How long the event is to be kept; stored on the event's row. Nothing prunes yet. */
  readonly retention?: Retention;
  /**
   * Paths whose values are never shown, such as `"card.number"` or `"lines[].name"`: wherever a payload could be
   * printed or logged, they are replaced. Receivers get them.
   */
  readonly private?: readonly string[];
  /**
   * Turns the payload of an older row into one of this version, before the schema sees it. Called with the row's
   * version, so one function covers several steps. It must return the payload.
   */
  readonly upgrade?: (payload: Json, fromVersion: number) => unknown;
}

/**
 * A declared event. Call it with a payload to get what `fire` takes.
 *
 * `name` is the identity that rows are written under: keep it when the variable is renamed or moved.
 */
export interface EventDefinition<Input = unknown, Output = Input> {
  /** The event with this payload, not fired yet. */
  (payload: JsonOf<Input>): EventInstance<Input, Output>;
  /** The identity that rows are written under. */
  readonly name: string;
  /** The payload's version. */
  readonly version: number;
  /** The schema, if any. */
  readonly schema: StandardSchema | undefined;
  /** See {@linkcode EventOptions.key}. */
  readonly key: ((payload: Output) => string) | undefined;
  /** See {@linkcode EventOptions.topic}. */
  readonly topic: string | undefined;
  /** How its rows' retention is stored. */
  readonly retention: StoredRetention;
  /** See {@linkcode EventOptions.upgrade}. */
  readonly upgrade: ((payload: Json, fromVersion: number) => unknown) | undefined;
  /** See {@linkcode EventOptions.private}. */
  readonly private: readonly string[];
}

/** Any declared event, whatever its payload. */
// deno-lint-ignore no-explicit-any
export type AnyEventDefinition = EventDefinition<any, any>;

/** An event with its payload, ready to be fired. Without parameters: one of any event. */
// deno-lint-ignore no-explicit-any -- `unknown` would fit none: `key` takes the payload as an argument
export interface EventInstance<Input = any, Output = Input> {
  /** Its declaration. */
  readonly definition: EventDefinition<Input, Output>;
  /** The payload as given. */
  readonly payload: unknown;
}

const OPTIONS = ["version", "schema", "key", "topic", "retention", "upgrade", "private"];
const declared = new WeakSet<object>();

/**
 * Declares an event with a schema: a fact in the past tense. `fire` takes the schema's input, and receivers get its
 * output.
 *
 * @param name the identity that rows are written under, such as `"orders.placed"`
 * @returns the declaration; call it with a payload to get what `fire` takes
 * @throws {TypeError} for an unknown option or one of the wrong type, naming the event and what is allowed
 * @throws {RangeError} for a version that is no whole number from 1 to 32767, or a retention out of range
 *
 * @example With a schema
 * ```ts
 * import { event } from "@owed/outbox";
 * import { z } from "zod";
 *
 * const OrderPlaced = event("orders.placed", {
 *   version: 1,
 *   schema: z.object({ orderId: z.int(), total: z.string() }),
 *   key: (order) => `order-${order.orderId}`,
 * });
 * const placed = OrderPlaced({ orderId: 1, total: "49.00" });
 * console.log(placed.definition.version); // 1
 * ```
 */
export function event<S extends StandardSchema>(
  name: string,
  options: EventOptions<OutputOf<S>, S> & { readonly schema: S },
): EventDefinition<InputOf<S>, OutputOf<S>>;
/**
 * Declares an event without a schema: its payload is any JSON, of the type that is named. Nothing checks at run time
 * that it has that type.
 *
 * @param name the identity that rows are written under, such as `"stock.low"`
 * @returns the declaration; call it with a payload to get what `fire` takes
 * @throws {TypeError} for an unknown option or one of the wrong type, naming the event and what is allowed
 * @throws {RangeError} for a version that is no whole number from 1 to 32767, or a retention out of range
 *
 * @example Typed without a schema
 * ```ts
 * import { event } from "@owed/outbox";
 *
 * const StockLow = event<{ sku: string; left: number }>("stock.low");
 * const low = StockLow({ sku: "tea", left: 2 });
 * console.log(low.definition.name); // stock.low
 * ```
 */
export function event<Payload = Json>(
  name: string,
  options?: EventOptions<Payload>,
): EventDefinition<Payload, Payload>;
export function event(
  name: string,
  options: EventOptions<never, StandardSchema | undefined> = {},
): EventDefinition<unknown, never> {
  requireName(name, "declare an event", "its name");
  const what = `event "${name}"`;
  refuseUnknown(options, OPTIONS, `declare ${what}`);
  const { version = 1, schema, key, topic, upgrade } = options;
  if (!Number.isInteger(version) || version < 1 || version > 32767) {
    throw new RangeError(`Cannot declare ${what}: version is a whole number from 1 to 32767, got ${String(version)}`);
  }
  if (schema !== undefined && typeof schema?.["~standard"]?.validate !== "function") {
    throw new TypeError(
      `Cannot declare ${what}: schema must implement Standard Schema v1 (zod, valibot, arktype, ...)`,
    );
  }
  for (const [option, value] of Object.entries({ key, upgrade })) {
    if (value !== undefined && typeof value !== "function") {
      throw new TypeError(`Cannot declare ${what}: ${option} must be a function, got ${typeof value}`);
    }
  }
  // A rest parameter or defaults make `length` smaller, so only too many is surely wrong.
  if (upgrade !== undefined && upgrade.length > 2) {
    throw new TypeError(
      `Cannot declare ${what}: upgrade takes (payload, fromVersion), got ${upgrade.length} parameters`,
    );
  }
  if (topic !== undefined) requireName(topic, `declare ${what}`, "topic");
  const retention = storedRetention(options.retention, `the retention of ${what}`);

  const definition = (payload: unknown): EventInstance<unknown, never> => ({
    definition: definition as unknown as EventDefinition<unknown, never>,
    payload,
  });
  Object.defineProperty(definition, "name", { value: name, enumerable: true });
  const complete = Object.freeze(
    Object.assign(definition, {
      version,
      schema,
      key,
      topic,
      retention,
      upgrade,
      private: privatePaths(what, options.private),
    }),
  );
  declared.add(complete);
  return complete as unknown as EventDefinition<unknown, never>;
}

function privatePaths(what: string, paths: readonly string[] = []): readonly string[] {
  if (Array.isArray(paths) && paths.every((path) => typeof path === "string" && path !== "")) {
    return Object.freeze([...paths]);
  }
  throw new TypeError(
    `Cannot declare ${what}: private must be a list of paths such as "card.number" or "lines[].name"`,
  );
}

/** Whether a value was made by {@linkcode event}. */
export function isEvent(value: unknown): value is AnyEventDefinition {
  return typeof value === "function" && declared.has(value);
}

/** The marker for receivers that are owed every event, see {@linkcode anyEvent}. */
export interface AnyEvent {
  /** Tells it from a declaration. */
  readonly every: true;
}

/**
 * Listens to every event: a receiver declared for it is owed each one that is fired, those declared later included.
 * Its payload is what the event's own schema gives, or the JSON where it has none.
 *
 * @example An audit trail
 * ```ts
 * import { anyEvent, receiver } from "@owed/outbox";
 *
 * const audit = receiver(anyEvent, "audit.trail", (payload, ctx) => {
 *   console.log(ctx.eventName, payload);
 * });
 * ```
 */
export const anyEvent: AnyEvent = Object.freeze({ every: true });
