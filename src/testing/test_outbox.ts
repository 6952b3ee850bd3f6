import { type Clock, systemClock } from "../clock.ts";
import type { Outbox } from "../core.ts";
import { buildOutbox, type OutboxOptions } from "../outbox.ts";
import { type LibsqlClient, libsqlStorage, type LibsqlTransaction } from "../storage/sqlite/mod.ts";

/** Options of {@linkcode testOutbox}: those of `createOutbox`, with a client in the place of the storage. */
export interface TestOutboxOptions<Tx extends LibsqlTransaction> extends Omit<OutboxOptions<Tx>, "storage"> {
  /** `createClient({ url: ":memory:" })` of `@libsql/client`; the schema is made by itself. */
  readonly client: LibsqlClient<Tx>;
  /**
   * The clock to go by. Default: the global `Date`, asked at each call, so that a fake clock of any test framework
   * drives it.
   */
  readonly clock?: Clock;
}

/**
 * An outbox in memory for one test.
 *
 * @throws as `createOutbox` does
 *
 * @example In a test
 * ```ts
 * import { createClient } from "@libsql/client";
 * import { event, fire } from "@owed/outbox";
 * import { testOutbox } from "@owed/outbox/testing";
 *
 * const OrderPlaced = event<{ orderId: number }>("orders.placed");
 * await using outbox = testOutbox({
 *   client: createClient({ url: ":memory:" }),
 *   receivers: [],
 *   events: [OrderPlaced],
 * });
 * await outbox.transaction((tx) => fire(tx, OrderPlaced({ orderId: 1 })));
 * ```
 */
export function testOutbox<Tx extends LibsqlTransaction>(options: TestOutboxOptions<Tx>): Outbox<Tx> {
  const { client, clock = globalClock, ...rest } = options;
  return buildOutbox({ ...rest, storage: libsqlStorage<Tx>(client) }, clock);
}

// The database's clock cannot be moved by a test; the global one can.
const globalClock: Clock = { ...systemClock, now: () => BigInt(Date.now()) * 1000n };
