import { type Core, inside } from "../core.ts";
import type { Tx } from "../declaration/context.ts";
import { type FiringSource, TxScope } from "./transaction.ts";
import type { Outbox } from "../core.ts";

/** Where deliveries are made: an outbox, or a transaction of one that a test rolls back. */
export interface DeliveryTarget {
  readonly core: Core;
  readonly within: TxScope | undefined;
}

/**
 * The inside of what a user passed.
 *
 * @throws {TypeError} when it is neither an outbox nor a transaction of one
 */
export function deliveryTarget(into: Outbox | Tx, what: string): DeliveryTarget {
  const source = (into as { [inside]?: FiringSource } | null | undefined)?.[inside];
  if (source instanceof TxScope) return { core: source.core, within: source };
  if (source?.outside) return { core: source.core, within: undefined };
  throw new TypeError(`Cannot ${what}: the first argument must be an outbox or a transaction of one`);
}
