import assert from "node:assert/strict";
import { deliverPending, LeaseLost } from "../../../mod.ts";
import { type Cases, later, rejection } from "./given.ts";
import { onOrder, order } from "./samples.ts";

const undo = new Error("undo");

export const acknowledgeCases: Cases = {
  "in a transaction of the receiver's own code it commits with the work": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) =>
        outbox.joining(() =>
          given.database.begin(async (client) => {
            await given.note(client, "work");
            await ctx.acknowledge(client);
          })
        )),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["work"]);
    assert.deepEqual(await given.outcomes(), ["stock succeeded 1"]);
  },

  "rolled back, the attempt has failed": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await rejection(outbox.joining(() =>
          given.database.begin(async (client) => {
            await given.note(client, "undone");
            await ctx.acknowledge(client);
            if (++runs === 1) throw undo;
          })
        )).catch(() => {});
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.deepEqual(await given.notes(), []);
    assert.match((await given.row()).lastError!, /did not commit/);
    assert.deepEqual(await deliverPending(outbox, { now: later({ hours: 1 }) }), { succeeded: 1 });
    assert.deepEqual(await given.outcomes(), ["stock succeeded 2"]);
  },

  "a transaction that is rolled back and run again is acknowledged by its second run": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const work = () =>
          outbox.joining(() =>
            given.database.begin(async (client) => {
              await given.note(client, `run ${++runs}`);
              await ctx.acknowledge(client);
              if (runs === 1) throw undo;
            })
          );
        await work().catch(work);
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
    assert.deepEqual(await given.notes(), ["run 2"]);
  },

  "acknowledging twice in one transaction does no harm": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) =>
        outbox.joining(() =>
          given.database.begin(async (client) => {
            await ctx.acknowledge(client);
            await ctx.acknowledge(client);
          })
        )),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "a receiver that throws after its transaction was rolled back has failed with its own error": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) =>
        outbox.joining(() =>
          given.database.begin(async (client) => {
            await ctx.acknowledge(client);
            throw undo;
          })
        )),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.equal((await given.row()).lastError, "Error: undo");
  },

  "it takes what join gave, and a transaction of the outbox": async (given) => {
    const outbox = given.outbox([
      onOrder(
        "joined",
        (_, ctx) => outbox.joining((join) => given.database.begin((client) => ctx.acknowledge(join(client)))),
      ),
      onOrder("own", (_, ctx) => outbox.transaction((tx) => ctx.acknowledge(tx))),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 2 });
    assert.deepEqual(await given.outcomes(), ["joined succeeded 1", "own succeeded 1"]);
  },

  "a row that was taken meanwhile is not acknowledged, and the work can be rolled back": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        await given.steal("stock");
        const error = await rejection(outbox.joining(() =>
          given.database.begin(async (client) => {
            await given.note(client, "undone");
            await ctx.acknowledge(client);
          })
        ));
        assert.ok(error instanceof LeaseLost, String(error));
        throw error;
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await given.notes(), []);
    const row = await given.row();
    assert.deepEqual([row.attempts, row.claimedBy, row.lastError], [0, "thief", null]);
  },

  "a row that was taken meanwhile takes the work along, even if the receiver swallows it": async (given) => {
    const outbox = given.outbox([
      onOrder("joined", async (_, ctx) => {
        await given.steal("joined");
        await outbox.joining(() =>
          given.database.begin(async (client) => {
            await given.note(client, "undone");
            await ctx.acknowledge(client).catch(() => {});
          })
        ).catch(() => {});
      }),
      onOrder("own", async (_, ctx) => {
        await given.steal("own");
        const error = await rejection(outbox.transaction(async (tx) => {
          await given.note(tx.client, "undone");
          await ctx.acknowledge(tx).catch(() => {});
        }));
        assert.ok(error instanceof LeaseLost, String(error));
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), {});
    assert.deepEqual(await given.notes(), []);
    assert.deepEqual((await given.rows()).map((row) => [row.attempts, row.claimedBy]), [[0, "thief"], [0, "thief"]]);
  },

  "not beside ctx.transaction(), which carries it already": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", async (_, ctx) => {
        const tx = await ctx.transaction();
        await assert.rejects(ctx.acknowledge(tx.client), /ctx\.transaction\(\) carries it already/);
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { succeeded: 1 });
  },

  "what is no transaction is refused": async (given) => {
    const outbox = given.outbox([onOrder("stock", (_, ctx) => ctx.acknowledge(given.database.client))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    assert.match((await given.row()).lastError!, /^TypeError/);
  },
};
