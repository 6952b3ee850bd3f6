import assert from "node:assert/strict";
import { createOutbox, fire } from "../../../mod.ts";
import { waitFor } from "../../support/wait_for.ts";
import type { Cases } from "./given.ts";
import { onOrder, order } from "./samples.ts";

export const afterCommitCases: Cases = {
  "by default a transaction resolves when on-commit receivers and eager attempts are done": async (given) => {
    const ran: string[] = [];
    const slowly = (what: string) => async () => {
      for (let i = 0; i < 50; i++) await Promise.resolve();
      ran.push(what);
    };
    const outbox = given.outbox([
      onOrder("eager", slowly("eager"), { eager: true }),
      onOrder("after", slowly("after"), { mode: "on-commit" }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(ran, ["eager", "after"]);
  },

  "in the background it resolves before them, and close waits for them": async (given) => {
    await using database = await given.fresh();
    await database.storage.migrate();
    const gate = Promise.withResolvers<void>();
    const ran: string[] = [];
    const outbox = createOutbox({
      storage: database.storage,
      receivers: [
        onOrder("eager", () => gate.promise.then(() => ran.push("eager")), { eager: true }),
        onOrder("after", () => gate.promise.then(() => ran.push("after")), { mode: "on-commit" }),
      ],
      settings: { afterCommit: "background" },
    });
    await outbox.transaction((tx) => fire(tx, order()));
    assert.deepEqual(ran, []);
    let closed = false;
    const closing = outbox.close().then(() => closed = true);
    await outbox.storage.findEvents({}); // time enough for a close that does not wait
    assert.equal(closed, false);
    gate.resolve();
    await closing;
    assert.deepEqual(ran, ["eager", "after"]);
  },

  "an on-commit receiver that fails in the background is logged and ends nothing": async (given) => {
    const outbox = given.outbox([onOrder("after", () => Promise.reject(new Error("no luck")), { mode: "on-commit" })], {
      settings: { afterCommit: "background" },
    });
    await given.fire(outbox, order());
    await waitFor(() => given.logs.lines("error").length === 1, { what: "the line in the log" });
  },

  "close can be called twice, and by the end of a scope": async (given) => {
    await using database = await given.fresh();
    await using outbox = createOutbox({ storage: database.storage, receivers: [onOrder("stock")] });
    await Promise.all([outbox.close(), outbox.close()]);
    await outbox.close();
  },

  "a process that fires says which receivers it lists": async (given) => {
    const outbox = given.outbox([onOrder("stock"), onOrder("after", () => {}, { mode: "on-commit" })], {
      app: "shop",
      release: "1.2.3",
    });
    await given.fire(outbox, order());
    const listed = () =>
      given.database.query(`select receiver_key, app, release from ${given.database.table("receivers")}`);
    await waitFor(async () => (await listed()).length > 0, { what: "the announcement" });
    assert.deepEqual((await listed()).map((row) => ({ ...row })), [
      { receiver_key: "stock", app: "shop", release: "1.2.3" },
    ]);
  },

  "an announcement that fails disturbs nobody": async (given) => {
    const storage = given.changed({ announce: () => Promise.reject(new Error("no")) });
    await given.fire(given.outbox([onOrder("stock")], { storage }), order());
    assert.deepEqual(await given.outcomes(), ["stock pending 0"]);
  },
};
