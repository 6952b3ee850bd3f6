import { coreOf, type Outbox } from "../core.ts";
import type { DeliveryContext } from "../declaration/context.ts";

/**
 * Runs another handler in the place of a receiver's own until the returned object is disposed: to let it fail, or to
 * keep it from the world. Its options stay.
 *
 * @returns a disposable that puts the receiver's own handler back
 * @throws {RangeError} when the outbox lists no receiver of that key
 * @throws {TypeError} when the handler is no function
 *
 * @example A mail server that is down
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { event, fire, receiver } from "@owed/outbox";
 * import { drainOutbox, replaceReceiver, testOutbox } from "@owed/outbox/testing";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const email = receiver(OrderPlaced, "email", () => console.log("sent"), { maxAttempts: 1 });
 * await using outbox = testOutbox({ client: createClient({ url: ":memory:" }), receivers: [email] });
 *
 * using _broken = replaceReceiver(outbox, "email", () => {
 *   throw new Error("the mail server is down");
 * });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * console.log(await drainOutbox(outbox)); // { dead: 1 }
 * ```
 */
export function replaceReceiver(
  outbox: Outbox,
  key: string,
  // deno-lint-ignore no-explicit-any -- the payload of whichever event the receiver listens to
  handler: (payload: any, ctx: DeliveryContext) => unknown,
): Disposable {
  const { registry } = coreOf(outbox, "replace a receiver");
  const own = registry.receivers.get(key);
  if (own === undefined) throw new RangeError(`Cannot replace receiver "${key}": the outbox does not list it`);
  if (typeof handler !== "function") {
    throw new TypeError(`Cannot replace receiver "${key}": its handler must be a function, got ${typeof handler}`);
  }
  registry.replace(key, handler);
  return { [Symbol.dispose]: () => registry.replace(key, own.handler) };
}
