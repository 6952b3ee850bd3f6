// Checked by `deno check`: each `@ts-expect-error` fails when the line below it compiles.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  createOutbox,
  type DeliveryContext,
  event,
  fire,
  fireAll,
  type Outbox,
  type Receiver,
  receiver,
  type Storage,
} from "@owed/outbox";

interface Postgres {
  unsafe(sql: string): Promise<unknown>;
}
interface Sqlite {
  execute(sql: string): Promise<unknown>;
}

const Placed = event<{ orderId: number }>("orders.placed");
const inPostgres = receiver(Placed, "postgres", async (_order, ctx: DeliveryContext<Postgres>) => {
  const { client } = await ctx.transaction();
  await client.unsafe("select 1");
  // @ts-expect-error it is typed by the driver
  await client.execute("select 1");
});
const inSqlite = receiver(Placed, "sqlite", async (_order, ctx: DeliveryContext<Sqlite>) => {
  await (await ctx.transaction()).client.execute("select 1");
});
const anywhere = receiver(Placed, "anywhere", (order) => order.orderId);
const curious = receiver(Placed, "curious", async (_order, ctx) => {
  const { client } = await ctx.transaction();
  // @ts-expect-error nobody said which driver it is
  client.unsafe("select 1");
});

// What is never called need not work; only its types matter.
function compiled(postgres: Storage<Postgres>, sqlite: Storage<Sqlite>): void {
  createOutbox({ storage: postgres, receivers: [inPostgres, anywhere, curious] });
  createOutbox({ storage: sqlite, receivers: [inSqlite, anywhere, curious] });
  createOutbox({ storage: sqlite, receivers: [] });
  // @ts-expect-error a receiver of another driver
  createOutbox({ storage: postgres, receivers: [inSqlite] });
  // @ts-expect-error a receiver of another driver
  createOutbox({ storage: sqlite, receivers: [inPostgres] });
  // @ts-expect-error one of another driver among those that fit
  createOutbox({ storage: postgres, receivers: [inPostgres, anywhere, inSqlite] });
  const mixed: Receiver<Postgres>[] = [inPostgres, anywhere];
  // @ts-expect-error a list of another driver
  createOutbox({ storage: sqlite, receivers: mixed });
  // @ts-expect-error an unknown option
  createOutbox({ storage: sqlite, receivers: [], reciever: [] });
  // @ts-expect-error a bare number has no unit
  createOutbox({ storage: sqlite, receivers: [], settings: { lease: 60 } });
  // @ts-expect-error an unknown setting
  createOutbox({ storage: sqlite, receivers: [], settings: { leese: { seconds: 60 } } });
}

async function fired(outbox: Outbox<Postgres>, ctx: DeliveryContext<Sqlite>): Promise<void> {
  const id: string | null = await fire(outbox, Placed({ orderId: 1 }));
  await fire(ctx, Placed({ orderId: 1 }));
  await outbox.transaction(async (tx) => {
    await tx.client.unsafe("select 1");
    // @ts-expect-error it is typed by the driver
    await tx.client.execute("select 1");
    await fire(tx, Placed({ orderId: 1 }), { dedupeKey: id ?? "none", onDuplicate: "ignore" });
    await fireAll(tx, [Placed({ orderId: 1 })]);
    await tx.savepoint((inner) => fire(inner, Placed({ orderId: 2 })));
    // @ts-expect-error a definition is no event yet
    await fire(tx, Placed);
    // @ts-expect-error there is no such choice
    await fire(tx, Placed({ orderId: 1 }), { onDuplicate: "replace" });
    // @ts-expect-error the driver's own handle must be joined
    await fire(tx.client, Placed({ orderId: 1 }));
  });
  await outbox.joining(async (join) => {
    await fire(join({}), Placed({ orderId: 1 }));
  });
}

describe("the types of a receiver", () => {
  it("carry the driver from the context to the outbox", () => {
    assert.equal(typeof compiled, "function");
    assert.equal(typeof fired, "function");
    assert.deepEqual([inPostgres, inSqlite, anywhere, curious].map(({ key }) => key), [
      "postgres",
      "sqlite",
      "anywhere",
      "curious",
    ]);
  });

  it("know the options", () => {
    // @ts-expect-error a bare number has no unit
    assert.throws(() => receiver(Placed, "x", () => {}, { lease: 60 }));
    // @ts-expect-error an unknown mode
    assert.throws(() => receiver(Placed, "x", () => {}, { mode: "async" }));
    // @ts-expect-error an unknown option
    assert.throws(() => receiver(Placed, "x", () => {}, { retries: 60 }));
    // @ts-expect-error no event
    assert.throws(() => receiver("orders.placed", "x", () => {}));
    assert.equal(receiver(Placed, "x", () => {}, { timeout: null }).policy.timeoutMs, null);
  });
});
