import assert from "node:assert/strict";
import {
  attributed,
  captureScope,
  causedBy,
  currentScope,
  deliverPending,
  deliverTask,
  fire,
  receiver,
  type TaskMessage,
} from "../../../mod.ts";
import { type Cases, rejection } from "./given.ts";
import { onOrder, order, StockReserved } from "./samples.ts";

const child = () => StockReserved({ orderId: 1 });

export const scopeCases: Cases = {
  "pitfall 10: what counts is where fire is called, not where it commits or is delivered": async (given) => {
    const ambient: unknown[] = [];
    const told: unknown[] = [];
    const outbox = given.outbox([
      onOrder("cache", () => ambient.push(currentScope().actor), { mode: "on-commit" }),
      onOrder("stock", (_, ctx) => {
        ambient.push(currentScope().actor, currentScope().facts);
        told.push(ctx.actor, ctx.scope);
      }),
    ]);
    await outbox.transaction(async (tx) => {
      await attributed({ actor: "user:42", facts: { ip: "192.0.2.1" } }, () => fire(tx, order()));
    });
    await attributed({ actor: "system:relay" }, () => deliverPending(outbox));
    const [row] = await given.events();
    assert.deepEqual([row?.actor, JSON.parse(row!.scope!)], ["user:42", { ip: "192.0.2.1" }]);
    assert.deepEqual(ambient, [undefined, undefined, {}]);
    assert.deepEqual(told, ["user:42", { ip: "192.0.2.1" }]);
  },

  "who, as what, the facts and the chain are on the event's row": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const by = { actor: "user:42", actorLabel: "Ann O'Neil", correlationId: "chain-1", facts: { n: 1, list: [null] } };
    await attributed(by, () => given.fire(outbox, order()));
    const [row] = await given.events();
    assert.deepEqual([row?.actor, row?.actorLabel, row?.correlationId], ["user:42", "Ann O'Neil", "chain-1"]);
    assert.deepEqual(JSON.parse(row!.scope!), { n: 1, list: [null] });
    assert.equal(row?.causationId, null);
  },

  "outside of any block an event has no actor, no facts and no chain": async (given) => {
    await given.fire(given.outbox([onOrder("stock")]), order());
    const [row] = await given.events();
    assert.deepEqual([row?.actor, row?.scope, row?.correlationId, row?.causationId], [null, null, null, null]);
  },

  "blocks are layers: facts add up and the inner ones win, actor and label are one unit, one chain for all": async (
    given,
  ) => {
    const outbox = given.outbox([onOrder("stock")]);
    await attributed({ actor: "user:1", actorLabel: "Ann", facts: { a: 1, b: 1 } }, async () => {
      await attributed({ actor: "user:2", facts: { b: 2, c: 2 } }, () => given.fire(outbox, order()));
      await attributed({ facts: { d: 3 } }, () => given.fire(outbox, order()));
      await given.fire(outbox, order());
    });
    const rows = await given.events();
    assert.deepEqual(rows.map((row) => [row.actor, row.actorLabel, JSON.parse(row.scope!)]), [
      ["user:2", null, { a: 1, b: 2, c: 2 }],
      ["user:1", "Ann", { a: 1, b: 1, d: 3 }],
      ["user:1", "Ann", { a: 1, b: 1 }],
    ]);
    const chains = new Set(rows.map((row) => row.correlationId));
    assert.equal(chains.size, 1);
    assert.match([...chains][0]!, /^[0-9a-f-]{36}$/);
  },

  "the next outermost block starts another chain": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const actor of ["user:1", "user:2"]) await attributed({ actor }, () => given.fire(outbox, order()));
    const [first, second] = await given.events();
    assert.notEqual(first!.correlationId, second!.correlationId);
  },

  "a block ends with its work, whether that returns or throws": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await attributed({ actor: "user:1" }, () => Promise.resolve());
    await rejection(attributed({ actor: "user:1" }, () => Promise.reject(new Error("no luck"))));
    assert.throws(() =>
      attributed({ actor: "user:1" }, () => {
        throw new Error("no luck");
      })
    );
    await given.fire(outbox, order());
    assert.equal((await given.events())[0]?.actor, null);
    assert.deepEqual({ ...currentScope() }, {
      actor: undefined,
      actorLabel: undefined,
      facts: {},
      correlationId: undefined,
      causationId: undefined,
    });
  },

  "pitfall 11: neither who gave the facts nor who reads them can change what later events store": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const facts = { request: { id: "r1" } };
    await attributed({ facts }, async () => {
      facts.request.id = "changed";
      const { facts: seen } = currentScope();
      assert.throws(() => Object.assign(seen, { more: 1 }), TypeError);
      assert.throws(() => Object.assign(seen.request as object, { id: "changed" }), TypeError);
      await given.fire(outbox, order());
    });
    assert.throws(() => Object.assign(currentScope().facts, { more: 1 }), TypeError);
    await given.fire(outbox, order());
    assert.deepEqual((await given.events()).map((row) => row.scope && JSON.parse(row.scope)), [
      { request: { id: "r1" } },
      null,
    ]);
  },

  "what a receiver does to the scope that it is given reaches no other": async (given) => {
    const told: unknown[] = [];
    const handler = (_: unknown, { scope }: { scope: object }) => {
      told.push({ ...scope });
      try {
        Object.assign(scope, { more: 1 });
      } catch { /* it may be frozen */ }
    };
    const outbox = given.outbox([onOrder("a", handler), onOrder("b", handler)]);
    await attributed({ facts: { a: 1 } }, () => given.fire(outbox, order()));
    await deliverPending(outbox);
    assert.deepEqual(told, [{ a: 1 }, { a: 1 }]);
  },

  "pitfall 14: actors and labels of 400 characters are cut to 255, and what no row can hold is replaced": async (
    given,
  ) => {
    const outbox = given.outbox([onOrder("stock")]);
    const long = "ü".repeat(400);
    await attributed({ actor: long, actorLabel: long, correlationId: long }, () => given.fire(outbox, order()));
    const halved = `${"x".repeat(254)}\u{1f600}`;
    await attributed({ actor: halved, actorLabel: "a\0b" }, () => given.fire(outbox, order()));
    const [first, second] = await given.events();
    assert.deepEqual([first?.actor, first?.actorLabel, first?.correlationId], Array(3).fill("ü".repeat(255)));
    assert.deepEqual([second?.actor, second?.actorLabel], [`${"x".repeat(254)}\ufffd`, "a\ufffdb"]);
  },

  "facts may hold any text": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const facts = { text: 'it\'s "quoted" \\ \u{1f600} ü', "key'\"": "\n", nul: "a\0b", half: "\ud800" };
    const told: unknown[] = [];
    const reading = given.outbox([onOrder("stock", (_, ctx) => told.push(ctx.scope))]);
    await attributed({ facts }, () => given.fire(outbox, order()));
    await deliverPending(reading);
    assert.deepEqual(told, [facts]);
  },

  "pitfall 15: facts that are no JSON are refused where the block begins": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const cycle: Record<string, unknown> = {};
    cycle.self = cycle;
    for (const facts of [{ n: 1n }, cycle, [1], "text", 7]) {
      let entered = false;
      assert.throws(() =>
        attributed({ facts: facts as never }, () => {
          entered = true;
          return given.fire(outbox, order());
        }), /facts must be/);
      assert.equal(entered, false);
    }
    await given.nothing();
  },

  "an attribution of another shape is refused where the block begins": () => {
    const wrong = [{ user: "ann" }, { actor: 7 }, { actorLabel: {} }, { correlationId: 7 }, null, "ann"];
    for (const by of wrong) assert.throws(() => attributed(by as never, () => assert.fail("entered")), TypeError);
    return Promise.resolve();
  },

  "pitfall 13: an actor is a text of the caller's own, which names the kind of what it identifies": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    for (const actor of ["user:42", "partner:42"]) await attributed({ actor }, () => given.fire(outbox, order()));
    assert.deepEqual((await given.events()).map((row) => row.actor), ["user:42", "partner:42"]);
  },

  "an empty actor is none, and the facts are there all the same": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    await attributed(
      { actor: "user:1", actorLabel: "Ann" },
      () => attributed({ actor: "", facts: { ip: "192.0.2.1" } }, () => given.fire(outbox, order())),
    );
    const [row] = await given.events();
    assert.deepEqual([row?.actor, row?.actorLabel, JSON.parse(row!.scope!)], [null, null, { ip: "192.0.2.1" }]);
  },

  "two tasks at once have each its own block": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const gate = Promise.withResolvers<void>();
    const placing = ["user:1", "user:2"].map((actor, i) =>
      attributed({ actor }, async () => {
        if (i === 1) gate.resolve();
        await gate.promise;
        await given.fire(outbox, order(i));
      })
    );
    await Promise.all(placing);
    const rows = await given.events();
    assert.deepEqual(rows.map((row) => [row.actor, JSON.parse(row.payload).orderId]).sort(), [
      ["user:1", 0],
      ["user:2", 1],
    ]);
  },

  "a captured scope carries actor, facts, chain and cause to code that the runtime does not connect, any number of times":
    async (given) => {
      const outbox = given.outbox([onOrder("stock")]);
      const cause = "01890a5d-ac96-774b-bcce-b302099a8057";
      const run = attributed(
        { actor: "user:42", correlationId: "chain", facts: { a: 1 } },
        () => causedBy(cause, () => captureScope()),
      );
      for (const n of [1, 2]) await run(() => given.fire(outbox, order(n)));
      await attributed({ actor: "other" }, async () => {
        await run(() => given.fire(outbox, order(3)));
        assert.equal(currentScope().actor, "other");
      });
      assert.equal(currentScope().actor, undefined);
      const rows = await given.events();
      assert.deepEqual(
        rows.map((row) => [row.actor, row.correlationId, row.causationId, row.scope && JSON.parse(row.scope)]),
        Array(3).fill(["user:42", "chain", cause, { a: 1 }]),
      );
    },

  "what a captured scope runs gives its result and its error to the caller": () => {
    const run = captureScope();
    assert.equal(run(() => 7), 7);
    assert.throws(() =>
      run(() => {
        throw new RangeError("mine");
      }), RangeError);
    return Promise.resolve();
  },

  "a scope captured in a transaction does not hold on to it: what runs elsewhere waits its turn": async (given) => {
    const outbox = given.outbox([onOrder("stock")]);
    const gate = Promise.withResolvers<void>();
    const captured = Promise.withResolvers<ReturnType<typeof captureScope>>();
    const holding = outbox.transaction(async () => {
      captured.resolve(captureScope());
      await gate.promise;
    });
    const run = await captured.promise;
    const firing = run(() => given.fire(outbox, order()));
    gate.resolve();
    await holding;
    await firing;
    assert.equal((await given.events()).length, 1);
  },

  "pitfall 21: a block inside a receiver names its own actor, and stays in the event's chain": async (given) => {
    const outbox = given.outbox([
      onOrder("inline", (_, ctx) => attributed({ actor: "system:inline" }, () => fire(ctx, child())), {
        mode: "inline",
      }),
      onOrder("stock", (_, ctx) => {
        const by = { actor: "system:stock", correlationId: "another" };
        return attributed(by, async () => {
          assert.equal(currentScope().correlationId, "chain");
          await fire(ctx, child());
        });
      }),
    ], { events: [StockReserved] });
    await attributed({ actor: "user:42", correlationId: "chain" }, () => given.fire(outbox, order()));
    await deliverPending(outbox);
    assert.deepEqual((await given.events()).map((row) => [row.actor, row.correlationId]), [
      ["user:42", "chain"],
      ["system:inline", "chain"],
      ["system:stock", "chain"],
    ]);
  },

  "without a block of its own, what a relay's receiver fires has no actor: the row's is not handed on": async (
    given,
  ) => {
    const outbox = given.outbox([onOrder("stock", (_, ctx) => fire(ctx, child()))], { events: [StockReserved] });
    await attributed({ actor: "user:42" }, () => given.fire(outbox, order()));
    await deliverPending(outbox);
    assert.deepEqual((await given.events()).map((row) => row.actor), ["user:42", null]);
  },

  "in a receiver the current scope names the event as the cause": async (given) => {
    const seen: unknown[] = [];
    const see = () => seen.push([currentScope().causationId, currentScope().correlationId]);
    const outbox = given.outbox([
      onOrder("inline", see, { mode: "inline" }),
      onOrder("cache", see, { mode: "on-commit" }),
      onOrder("notify", see, { eager: true }),
      onOrder("stock", see),
    ]);
    const [id] = await attributed({ correlationId: "chain" }, () => given.fire(outbox, order()));
    await deliverPending(outbox);
    assert.deepEqual(seen, Array(4).fill([id, "chain"]));
    assert.equal(currentScope().causationId, undefined);
  },

  "causedBy names the cause; the chain is the surrounding one, or the named one, or begins with the cause": async (
    given,
  ) => {
    const outbox = given.outbox([onOrder("stock")]);
    const cause = "01890a5d-ac96-774b-bcce-b302099a8057";
    await causedBy(cause, () => given.fire(outbox, order()));
    await causedBy(cause, () => given.fire(outbox, order()), "named");
    await attributed({ correlationId: "around" }, () => causedBy(cause, () => given.fire(outbox, order())));
    await given.fire(outbox, order());
    assert.deepEqual((await given.events()).map((row) => [row.causationId, row.correlationId]), [
      [cause, cause],
      [cause, "named"],
      [cause, "around"],
      [null, null],
    ]);
  },

  "causedBy without an id is refused before the work starts": () => {
    for (const wrong of ["", " ", undefined, 7, "a\0b", "x".repeat(256)]) {
      assert.throws(() => causedBy(wrong as never, () => assert.fail("entered")), TypeError);
    }
    return Promise.resolve();
  },
};

export const causationCases: Cases = {
  "pitfall 22: what is fired at any site names the event that its receiver ran for, and what is fired next names none":
    async (given) => {
      const outbox = given.outbox([
        onOrder("inline", (_, ctx) => fire(ctx, StockReserved({ orderId: 1 })), { mode: "inline" }),
        onOrder("cache", () => outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 2 }))), {
          mode: "on-commit",
        }),
        onOrder("notify", (_, ctx) => fire(ctx, StockReserved({ orderId: 3 })), { eager: true }),
        onOrder("stock", (_, ctx) => fire(ctx, StockReserved({ orderId: 4 }))),
        onOrder("ledger", () => outbox.transaction((tx) => fire(tx, StockReserved({ orderId: 5 })))),
      ], { events: [StockReserved] });
      const [parent] = await attributed({ correlationId: "chain" }, () => given.fire(outbox, order()));
      await deliverPending(outbox);
      await given.fire(outbox, StockReserved({ orderId: 6 }));
      const children = (await given.events()).filter((row) => row.name === "stock.reserved")
        .map((row) => [JSON.parse(row.payload).orderId, row.causationId, row.correlationId]).sort();
      assert.deepEqual(children, [
        ...[1, 2, 3, 4, 5].map((n) => [n, parent, "chain"]),
        [6, null, null],
      ]);
    },

  "pitfall 22: so does what a receiver fires in a queue's worker": async (given) => {
    const messages: TaskMessage[] = [];
    const outbox = given.outbox([
      onOrder("ctx", (_, ctx) => fire(ctx, child()), { site: "task" }),
      onOrder("own", () => outbox.transaction((tx) => fire(tx, child())), { site: "task" }),
    ], {
      events: [StockReserved],
      tasks: { enqueue: (message) => Promise.resolve(void messages.push(message)) },
    });
    const [parent] = await attributed({ correlationId: "chain" }, () => given.fire(outbox, order()));
    await deliverPending(outbox);
    assert.equal((await given.events()).length, 1);
    for (const message of messages) {
      assert.equal(await attributed({ actor: "system:worker" }, () => deliverTask(outbox, message)), "succeeded");
    }
    const children = (await given.events()).slice(1);
    assert.deepEqual(children.map((row) => [row.causationId, row.correlationId, row.actor]), [
      [parent, "chain", null],
      [parent, "chain", null],
    ]);
    assert.equal(currentScope().causationId, undefined);
  },

  "of two deliveries that run at once each has its own cause": async (given) => {
    const gate = Promise.withResolvers<void>();
    let waiting = 0;
    const outbox = given.outbox([
      onOrder("stock", async ({ orderId }, ctx) => {
        if (++waiting === 2 || given.storage.capabilities.maxConcurrency === 1) gate.resolve();
        await gate.promise;
        await fire(ctx, StockReserved({ orderId }));
      }),
    ], { events: [StockReserved] });
    const [first, second] = await given.fire(outbox, order(1), order(2));
    await deliverPending(outbox, { concurrency: 2 });
    const children = (await given.events()).filter((row) => row.name === "stock.reserved")
      .map((row) => [JSON.parse(row.payload).orderId, row.causationId]).sort();
    assert.deepEqual(children, [[1, first], [2, second]]);
  },

  "the cause is the one whose context fires, whatever surrounds the call": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) => causedBy("01890a5d-ac96-774b-bcce-b302099a8057", () => fire(ctx, child()))),
    ], { events: [StockReserved] });
    const [parent] = await given.fire(outbox, order());
    await deliverPending(outbox);
    assert.equal((await given.events()).at(-1)?.causationId, parent);
  },

  "a chain runs through all its links": async (given) => {
    const outbox = given.outbox([
      onOrder("stock", (_, ctx) => fire(ctx, child())),
      receiver(StockReserved, "mail", ({ orderId }, ctx) => orderId === 1 ? fire(ctx, order(2)) : undefined),
    ]);
    await attributed({ correlationId: "chain" }, () => given.fire(outbox, order()));
    await deliverPending(outbox, { limit: 1 });
    await deliverPending(outbox, { limit: 1 });
    const rows = await given.events();
    assert.deepEqual(rows.map((row) => row.correlationId), ["chain", "chain", "chain"]);
    assert.deepEqual(rows.map((row) => row.causationId), [null, rows[0]!.id, rows[1]!.id]);
  },
};
