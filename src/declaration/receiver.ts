import type { DeliveryContext } from "./context.ts";
import { type AnyEvent, anyEvent, type AnyEventDefinition, type EventDefinition, isEvent } from "./event.ts";
import type { ReceiverOptions } from "./receiver_options.ts";
import { policyOf, type ReceiverPolicy } from "./receiver_policy.ts";
import { requireName } from "./refusals.ts";

/** A declared receiver. `Client` is the driver's transaction that its handler asks for. */
export interface Receiver<Client = unknown> {
  /** The identity that delivery rows are written under. */
  readonly key: string;
  /** What it listens to. */
  readonly event: AnyEventDefinition | AnyEvent;
  /** The user's function. */
  readonly handler: (payload: never, ctx: DeliveryContext<Client>) => unknown;
  /** Its checked options. */
  readonly policy: ReceiverPolicy;
}

const declared = new WeakSet<object>();

/**
 * Declares who listens. Nothing is registered: list it in `createOutbox`.
 *
 * @param event what it listens to, or `anyEvent`
 * @param key the identity that rows are written under; keep it when the function is renamed
 * @param handler gets the payload as the schema's output, deeply frozen and parsed afresh for each attempt
 * @throws {TypeError} for an unknown option, one of the wrong type, or a durable option on a mode without rows
 * @throws {RangeError} for a value out of range; both name the receiver, the option and what is allowed
 *
 * @example Stock that is reserved exactly once
 * ```ts
 * import { type DeliveryContext, event, receiver } from "@owed/outbox";
 * import type { TransactionSql } from "postgres";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const reserveStock = receiver(
 *   OrderPlaced,
 *   "stock.reserve",
 *   async (order, ctx: DeliveryContext<TransactionSql>) => {
 *     const { client: sql } = await ctx.transaction();
 *     await sql`update stock set on_hand = on_hand - 1 where order_id = ${order.orderId}`;
 *   },
 *   { maxAttempts: 10, backoff: { base: { seconds: 5 } } },
 * );
 * ```
 */
export function receiver<Input, Output, Client = unknown>(
  event: EventDefinition<Input, Output>,
  key: string,
  handler: (payload: Output, ctx: DeliveryContext<Client>) => unknown,
  options?: ReceiverOptions<Output>,
): Receiver<Client>;
/**
 * Declares who listens to every event, those declared later included. Its payload is what the
 * event's own schema gives, or the JSON where it has none.
 *
 * @param event `anyEvent`
 * @param key the identity that rows are written under; keep it when the function is renamed
 * @param handler tells the events apart by `ctx.eventName`
 * @throws {TypeError | RangeError} as for a receiver of one event
 *
 * @example What happens, line by line
 * ```ts
 * import { anyEvent, receiver } from "@owed/outbox";
 *
 * const tail = receiver(anyEvent, "tail", (_payload, ctx) => ctx.log.info("{name}", { name: ctx.eventName }));
 * console.log(tail.policy.mode); // durable
 * ```
 */
export function receiver<Client = unknown>(
  event: AnyEvent,
  key: string,
  handler: (payload: unknown, ctx: DeliveryContext<Client>) => unknown,
  options?: ReceiverOptions<unknown>,
): Receiver<Client>;
export function receiver<Client>(
  event: AnyEventDefinition | AnyEvent,
  key: string,
  handler: (payload: never, ctx: DeliveryContext<Client>) => unknown,
  options: ReceiverOptions<never> = {},
): Receiver<Client> {
  requireName(key, "declare a receiver", "its key");
  if (event !== anyEvent && !isEvent(event)) {
    throw new TypeError(`Cannot declare receiver "${key}": its event must be made by event(), or be anyEvent`);
  }
  if (typeof handler !== "function") {
    throw new TypeError(`Cannot declare receiver "${key}": its handler must be a function, got ${typeof handler}`);
  }
  const complete: Receiver<Client> = Object.freeze({ key, event, handler, policy: policyOf(key, options) });
  declared.add(complete);
  return complete;
}

/** Whether a value was made by {@linkcode receiver}. */
export function isReceiver(value: unknown): value is Receiver {
  return typeof value === "object" && value !== null && declared.has(value);
}
