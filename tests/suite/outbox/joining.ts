import assert from "node:assert/strict";
import { fire } from "../../../mod.ts";
import { type Cases, type Given, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

function watched(given: Given, veto?: Error) {
  const ran: string[] = [];
  const storage = given.changed({ wake: () => Promise.resolve(void ran.push("wake")) });
  const outbox = given.outbox([
    onOrder("eager", ({ orderId }) => ran.push(`eager ${orderId}`), { eager: true }),
    onOrder("after", ({ orderId }) => ran.push(`after ${orderId}`), { mode: "on-commit" }),
    onOrder("inline", () => {
      if (veto) throw veto;
    }, { mode: "inline" }),
  ], { storage, events: [StockReserved] });
  return { outbox, ran };
}

const undo = new Error("undo");

export const joiningCases: Cases = {
  "what is fired in a transaction that commits is there, and runs afterwards": async (given) => {
    const { outbox, ran } = watched(given);
    const id = await outbox.joining((join) =>
      given.database.begin(async (client) => {
        await given.note(client, "kept");
        const id = await fire(join(client), order());
        assert.deepEqual(ran, []);
        return id;
      })
    );
    assert.deepEqual((await given.events()).map((event) => event.id), [id]);
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(ran, ["wake", "eager 1", "after 1"]);
    assert.deepEqual(await given.outcomes(), ["eager succeeded 1"]);
  },

  "of a transaction that the caller's code rolls back nothing is there, and nothing runs": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.joining(async (join) => {
      const error = await rejection(given.database.begin(async (client) => {
        await fire(join(client), order());
        throw undo;
      }));
      assert.equal(error, undo);
    });
    await given.nothing();
    assert.deepEqual(ran, []);
  },

  "an error of the work passes through": async (given) => {
    const { outbox, ran } = watched(given);
    const error = await rejection(outbox.joining((join) =>
      given.database.begin(async (client) => {
        await fire(join(client), order());
        throw undo;
      })
    ));
    assert.equal(error, undo);
    assert.deepEqual(ran, []);
  },

  "of two transactions the one that committed counts": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.joining(async (join) => {
      await rejection(given.database.begin(async (client) => {
        await fire(join(client), order(1));
        throw undo;
      }));
      await given.database.begin((client) => fire(join(client), order(2)));
    });
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [2]);
    assert.deepEqual(ran, ["wake", "eager 2", "after 2"]);
  },

  "a savepoint of the joined transaction leaves nothing when it is undone": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.joining((join) =>
      given.database.begin(async (client) => {
        const tx = join(client);
        await fire(tx, order(1));
        await rejection(tx.savepoint(async (inner) => {
          await fire(inner, order(2));
          throw undo;
        }));
      })
    );
    assert.deepEqual((await given.events()).map(({ payload }) => JSON.parse(payload).orderId), [1]);
    assert.deepEqual(ran, ["wake", "eager 1", "after 1"]);
  },

  "a savepoint that we cannot see leaves nothing either": async (given) => {
    const { outbox, ran } = watched(given);
    await outbox.joining((join) =>
      given.database.begin(async (client) => {
        await given.database.execute(client, "savepoint mine");
        await fire(join(client), order());
        await given.database.execute(client, "rollback to savepoint mine");
        await given.note(client, "kept");
      })
    );
    assert.deepEqual(await given.events(), []);
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(ran, []);
  },

  "a veto dooms the foreign transaction even if it is caught": async (given) => {
    const veto = new Error("veto");
    const { outbox, ran } = watched(given, veto);
    const error = await rejection(outbox.joining((join) =>
      given.database.begin(async (client) => {
        await given.note(client, "undone");
        assert.equal(await rejection(fire(join(client), order())), veto);
      }).catch(() => {}) // as code does that takes no notice
    ));
    assert.equal(error, veto);
    await given.nothing();
    assert.deepEqual(ran, []);
  },

  "a veto in a savepoint of the caller's own leaves what committed around it": async (given) => {
    const veto = new Error("veto");
    const { outbox, ran } = watched(given, veto);
    await outbox.joining((join) =>
      given.database.begin(async (client) => {
        const tx = join(client);
        await fire(tx, StockReserved({ orderId: 1 }));
        await given.note(client, "kept");
        if (given.oneWriter) {
          assert.equal(await rejection(tx.savepoint((inner) => fire(inner, order()))), veto);
          return;
        }
        const own = client as { savepoint?: (work: (inner: unknown) => Promise<unknown>) => Promise<unknown> };
        if (own.savepoint) {
          assert.equal(await rejection(own.savepoint((inner) => fire(join(inner), order()))), veto);
          return;
        }
        await given.database.execute(client, "savepoint mine");
        assert.equal(await rejection(fire(tx, order())), veto);
        await given.database.execute(client, "rollback to savepoint mine");
      })
    );
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual((await given.events()).map(({ name }) => name), ["stock.reserved"]);
    assert.deepEqual(ran, []);
  },

  "a veto stands when nothing that was fired beside it is there": async (given) => {
    const veto = new Error("veto");
    const { outbox } = watched(given, veto);
    const error = await rejection(outbox.joining((join) =>
      given.database.begin(async (client) => {
        await fire(join(client), StockReserved({ orderId: 1 }));
        await rejection(fire(join(client), order()));
      }).catch(() => {})
    ));
    assert.equal(error, veto);
    await given.nothing();
  },

  "a refused payload leaves the foreign transaction usable": async (given) => {
    const { outbox } = watched(given);
    await outbox.joining((join) =>
      given.database.begin(async (client) => {
        await assert.rejects(fire(join(client), order(NaN)), { name: "PayloadRefused" });
        await given.note(client, "kept");
      })
    );
    assert.deepEqual(await given.notes(), ["kept"]);
    assert.deepEqual(await given.events(), []);
  },

  "firing after the foreign transaction has ended is refused": async (given) => {
    const { outbox } = watched(given);
    const tx = await outbox.joining((join) => given.database.begin((client) => Promise.resolve(join(client))));
    await assert.rejects(fire(tx, order()), /has ended/);
    await given.nothing();
  },

  "a fire that nobody awaited is in the transaction or refused, and never outside of it": async (given) => {
    const { outbox } = watched(given);
    for (const committed of [true, false]) {
      await given.database.clear();
      const joined = outbox.joining((join) =>
        given.database.begin((client) => {
          void fire(join(client), order());
          return committed ? Promise.resolve() : Promise.reject(undo);
        }).catch((error) => {
          if (error !== undo) throw error;
        })
      );
      const failed = await joined.then(() => false, () => true);
      const events = (await given.events()).length;
      assert.equal(events, committed && !failed ? 1 : 0, `committed: ${committed}, joining failed: ${failed}`);
    }
  },

  "what is no open transaction is refused": async (given) => {
    const { outbox } = watched(given);
    for (const wrong of [undefined, null, {}, given.database.client, given.storage]) {
      await assert.rejects(outbox.joining((join) => Promise.resolve(join(wrong))), TypeError);
    }
  },

  "joining without firing gives what the work gives": async (given) => {
    const { outbox, ran } = watched(given);
    assert.equal(await outbox.joining(() => Promise.resolve(7)), 7);
    assert.deepEqual(ran, []);
  },

  "a transaction of the outbox inside does not wait for itself": async (given) => {
    const { outbox } = watched(given);
    const inside = outbox.joining(() => outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 1 }))));
    if (given.oneWriter) assert.match((await rejection(inside)).message, /would wait for itself/);
    else await inside;
    assert.equal((await given.events()).length, given.oneWriter ? 0 : 1);
  },
};
