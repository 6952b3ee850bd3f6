import assert from "node:assert/strict";
import type { Cases, Given } from "./given.ts";
import { aDebt, anEvent, range } from "./samples.ts";
import { takeTime } from "../../support/wait_for.ts";

async function names(given: Given): Promise<string[]> {
  return (await given.storage.findEvents({})).map(({ name }) => name).sort();
}

export const transactionCases: Cases = {
  "gives what the work gives, and commits": async (given) => {
    const value = await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      return { n: 1 };
    });
    assert.deepEqual(value, { n: 1 });
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "throws what the work throws, and rolls back": async (given) => {
    const error = new Error("undo");
    const change = given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      throw error;
    });
    assert.equal(await change.catch((thrown) => thrown), error);
    assert.deepEqual(await given.notes(), []);
  },

  "throws what is no Error as it is": async (given) => {
    for (const thrown of [undefined, null, "text", 7]) {
      const caught = await given.storage.transaction(() => Promise.reject(thrown)).then(() => "committed", (e) => e);
      assert.equal(caught, thrown);
    }
  },

  "a failed statement rolls everything back": async (given) => {
    await assert.rejects(
      given.storage.transaction(async (tx) => {
        await given.note(tx.client, "work");
        await given.database.execute(tx.client, "select 1 from no_such_table");
      }),
      /no_such_table/,
    );
    assert.deepEqual(await given.notes(), []);
  },

  "many that fail leave no connection behind": async (given) => {
    for (const _ of range(30)) {
      await assert.rejects(given.storage.transaction(() => Promise.reject(new Error("undo"))));
      await assert.rejects(
        given.storage.transaction((tx) => given.database.execute(tx.client, "select 1 from no_such_table")),
      );
    }
    await given.storage.transaction((tx) => given.note(tx.client, "work"));
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "side by side they all commit": async (given) => {
    await Promise.all(
      range(30).map((n) =>
        given.storage.transaction(async (tx) => {
          await given.note(tx.client, `${n}`);
          const event = anEvent();
          await given.storage.append(tx, [event], [aDebt(event)], given.now);
        })
      ),
    );
    assert.equal((await given.notes()).length, 30);
    assert.equal((await given.rows()).length, 30);
  },

  "over two connections they all commit": async (given) => {
    await Promise.all(
      range(20).map((n) => {
        const by = n % 2 ? given.storage : given.second;
        return by.transaction(async (tx) => {
          const event = anEvent();
          await by.append(tx, [event], [aDebt(event)], given.now);
          await Promise.resolve();
        });
      }),
    );
    assert.equal((await given.rows()).length, 20);
  },

  "a savepoint gives what its work gives": async (given) => {
    const value = await given.storage.transaction((tx) => tx.savepoint(() => Promise.resolve(7)));
    assert.equal(value, 7);
  },

  "a savepoint that ends is part of the transaction": async (given) => {
    await given.storage.transaction(async (tx) => {
      await tx.savepoint((inner) => given.note(inner.client, "inner"));
      await given.note(tx.client, "outer");
    });
    assert.deepEqual(await given.notes(), ["inner", "outer"]);
  },

  "a savepoint that throws leaves nothing, and the rest stays": async (given) => {
    const error = new Error("undo");
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "before");
      const inner = tx.savepoint(async (inner) => {
        const event = anEvent({ name: "undone" });
        await given.storage.append(inner, [event], [aDebt(event)], given.now);
        await given.note(inner.client, "inner");
        throw error;
      });
      assert.equal(await inner.catch((thrown) => thrown), error);
      await given.note(tx.client, "after");
    });
    assert.deepEqual(await given.notes(), ["after", "before"]);
    assert.deepEqual(await given.storage.findEvents({}), []);
    assert.deepEqual(await given.rows(), []);
  },

  "a failed statement in a savepoint leaves the transaction usable": async (given) => {
    await given.storage.transaction(async (tx) => {
      await assert.rejects(
        tx.savepoint((inner) => given.database.execute(inner.client, "select 1 from no_such_table")),
      );
      await given.note(tx.client, "after");
    });
    assert.deepEqual(await given.notes(), ["after"]);
  },

  "savepoints in savepoints": async (given) => {
    await given.storage.transaction(async (tx) => {
      await tx.savepoint(async (outer) => {
        await given.note(outer.client, "outer");
        await assert.rejects(outer.savepoint(async (inner) => {
          await given.note(inner.client, "inner");
          throw new Error("undo");
        }));
        await outer.savepoint((inner) => given.note(inner.client, "second"));
      });
    });
    assert.deepEqual(await given.notes(), ["outer", "second"]);
  },

  "a savepoint that ends goes with the one around it": async (given) => {
    await given.storage.transaction(async (tx) => {
      await assert.rejects(tx.savepoint(async (outer) => {
        await outer.savepoint((inner) => given.note(inner.client, "inner"));
        throw new Error("undo");
      }));
    });
    assert.deepEqual(await given.notes(), []);
  },

  "many savepoints one after the other": async (given) => {
    await given.storage.transaction(async (tx) => {
      for (const n of range(50)) await tx.savepoint((inner) => given.note(inner.client, `${n}`));
    });
    assert.equal((await given.notes()).length, 50);
  },

  "a savepoint that goes takes its dedupe key along": async (given) => {
    const [undone, kept] = [anEvent({ dedupeKey: "once" }), anEvent({ dedupeKey: "once" })];
    const { duplicates } = await given.storage.transaction(async (tx) => {
      await assert.rejects(tx.savepoint(async (inner) => {
        await given.storage.append(inner, [undone], [], given.now);
        throw new Error("undo");
      }));
      return await given.storage.append(tx, [kept], [], given.now);
    });
    assert.equal(duplicates.size, 0);
  },

  "a doomed transaction does not commit": async (given) => {
    const change = given.storage.transaction(async (tx) => {
      await given.note(tx.client, "work");
      await tx.doom();
    });
    await assert.rejects(change);
    assert.deepEqual(await given.notes(), []);
  },

  "a doomed transaction that throws throws its own error": async (given) => {
    const change = given.storage.transaction(async (tx) => {
      await tx.doom();
      throw new Error("a veto");
    });
    await assert.rejects(change, /a veto/);
  },

  "a doomed savepoint goes, though its work resolves": async (given) => {
    await given.storage.transaction(async (tx) => {
      await given.note(tx.client, "outer");
      await assert.rejects(tx.savepoint(async (inner) => {
        await given.note(inner.client, "inner");
        await inner.doom();
      }));
    });
    assert.deepEqual(await given.notes(), ["outer"]);
  },

  "a doomed transaction of the driver does not commit": async (given) => {
    await given.storage.yielding(() =>
      given.database.begin(async (client) => {
        await given.note(client, "work");
        await given.storage.join(client).doom();
      })
    ).catch(() => {}); // whether the driver tells is the driver's matter
    assert.deepEqual(await given.notes(), []);
  },

  "joins a transaction of the driver": async (given) => {
    await given.storage.yielding(() =>
      given.database.begin(async (client) => {
        await given.note(client, "work");
        const tx = given.storage.join(client);
        const event = anEvent({ name: "joined" });
        await given.storage.append(tx, [event], [aDebt(event)], given.now);
      })
    );
    assert.deepEqual(await names(given), ["joined"]);
    assert.deepEqual(await given.notes(), ["work"]);
  },

  "what is fired in a joined transaction goes with it": async (given) => {
    const change = given.storage.yielding(() =>
      given.database.begin(async (client) => {
        const event = anEvent();
        await given.storage.append(given.storage.join(client), [event], [aDebt(event)], given.now);
        throw new Error("undo");
      })
    );
    await assert.rejects(change, /undo/);
    assert.deepEqual(await names(given), []);
  },

  "a joined transaction has savepoints": async (given) => {
    await given.storage.yielding(() =>
      given.database.begin(async (client) => {
        const tx = given.storage.join(client);
        await assert.rejects(tx.savepoint(async (inner) => {
          await given.note(inner.client, "undone");
          throw new Error("undo");
        }));
        await tx.savepoint((inner) => given.note(inner.client, "kept"));
      })
    );
    assert.deepEqual(await given.notes(), ["kept"]);
  },

  "its own transaction can be joined": async (given) => {
    await given.storage.transaction(async (tx) => {
      const event = anEvent({ name: "joined" });
      await given.storage.append(given.storage.join(tx.client), [event], [], given.now);
    });
    assert.deepEqual(await names(given), ["joined"]);
  },

  "joins nothing that is no open transaction": (given) => {
    for (const value of [undefined, null, 1, "tx", {}, [], () => {}, given.database.client]) {
      assert.throws(() => given.storage.join(value), TypeError);
    }
    return Promise.resolve();
  },

  "goes on with its own work while somebody else's transaction runs": async (given) => {
    await given.fireMany(10);
    const yielded = given.storage.yielding(() =>
      given.database.begin(async (client) => {
        for (const n of range(5)) {
          await given.note(client, `${n}`);
          await takeTime(2);
        }
      })
    );
    for (const n of range(10)) await given.claimOne({ limit: 1, worker: `worker-${n}` });
    await yielded;
    assert.equal((await given.notes()).length, 5);
  },

  "gives what yielded work gives, and throws what it throws": async (given) => {
    assert.equal(await given.storage.yielding(() => Promise.resolve(7)), 7);
    await assert.rejects(given.storage.yielding(() => Promise.reject(new Error("theirs"))), /theirs/);
    await given.fire();
  },

  "close leaves the caller's client open": async (given) => {
    await using database = await given.fresh();
    await database.storage.migrate();
    await database.storage.close();
    await database.storage.close();
    await database.begin((client) => database.execute(client, "select 1"));
  },
};
