import type { DeliveryContext } from "./context.ts";

/** What a receiver runs. */
export type Handler<Payload, Client = unknown> = (payload: Payload, ctx: DeliveryContext<Client>) => unknown;

/**
 * A handler that is loaded when it is first needed, so that a process which only fires loads no mailer. A module that
 * cannot be loaded fails the attempt like any error of the receiver's, and is tried again at the next one.
 *
 * @param load gives the handler, or a module whose default export is the handler
 *
 * @example A mailer that only the relay loads
 * ```ts no-run
 * import { event, lazy, receiver } from "@owed/outbox";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * const email = receiver(OrderPlaced, "email.receipt", lazy(() => import("./email_receipt.ts")));
 * ```
 */
export function lazy<Payload, Client = unknown>(
  load: () => Promise<Handler<Payload, Client> | { readonly default: Handler<Payload, Client> }>,
): Handler<Payload, Client> {
  let loaded: Promise<Handler<Payload, Client>> | undefined;
  return async (payload, ctx) => {
    // Forgotten when it fails: the next attempt may find the module.
    loaded ??= load().then(handlerOf).catch((error) => {
      loaded = undefined;
      throw error;
    });
    const handler = await loaded;
    return await handler(payload, ctx);
  };
}

function handlerOf<Payload, Client>(
  module: Handler<Payload, Client> | { readonly default: Handler<Payload, Client> },
): Handler<Payload, Client> {
  const handler = typeof module === "function" ? module : module?.default;
  if (typeof handler === "function") return handler;
  throw new TypeError("Cannot run a lazy receiver: its module must have the handler as its default export");
}
