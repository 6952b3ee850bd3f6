import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as library from "../../mod.ts";
import * as testing from "../../src/testing/mod.ts";
import { fired, onOrder, opened, order, OrderPlaced } from "./given.ts";

const { assertFired, drainOutbox } = testing;

describe("testOutbox", () => {
  it("is an outbox with its schema made, apart from every other", async () => {
    await using one = opened([onOrder("mail")]);
    await using other = opened([onOrder("mail")]);
    await fired(one, order());
    await assertFired(one, OrderPlaced, { times: 1 });
    await assertFired(other, OrderPlaced, { times: 0 });
    assert.deepEqual(await drainOutbox(one), { succeeded: 1 });
  });

  it("takes the options of createOutbox, and refuses what that refuses", async () => {
    assert.throws(() => opened([onOrder("mail"), onOrder("mail")]), /two receivers have the key "mail"/);
    assert.throws(() => opened([], { reciever: [] } as never), /unknown option "reciever"/);
    await using outbox = opened([onOrder("mail", () => Promise.reject(new Error("no")))], {
      settings: { maxAttempts: 2 },
    });
    await fired(outbox, order());
    assert.deepEqual(await drainOutbox(outbox), { failed: 1, dead: 1 });
  });

  it("is quick enough for one in each test", async () => {
    const startedAt = performance.now();
    for (let n = 0; n < 50; n++) {
      await using outbox = opened([onOrder("mail"), onOrder("stock")]);
      await fired(outbox, order(n));
      await drainOutbox(outbox);
    }
    // Some 3 ms each; what a loaded machine adds is in the bound, a sleep or a poll anywhere is not.
    assert.ok(performance.now() - startedAt < 5000, `${performance.now() - startedAt} ms for fifty`);
  });

  it("both doors give the same functions", () => {
    assert.equal(testing.assertFired, library.assertFired);
    assert.equal(testing.drainOutbox, library.drainOutbox);
  });
});
