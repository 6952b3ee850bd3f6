import assert from "node:assert/strict";
import { event, fire, suppressed } from "../../../mod.ts";
import type { Retention } from "../../../mod.ts";
import type { Cases, Given } from "./given.ts";

async function stored(given: Given): Promise<unknown[]> {
  const rows = await given.database.query(
    `select retention_seconds, delete_when from ${given.database.table("events")} order by id`,
  );
  return rows.map((row) => [row.retention_seconds === null ? null : Number(row.retention_seconds), row.delete_when]);
}

async function fired(given: Given, ...retentions: (Retention | undefined)[]): Promise<void> {
  const declared = retentions.map((retention, i) => event<null>(`kept.${i}`, retention ? { retention } : {}));
  await given.fire(given.outbox([], { events: declared }), ...declared.map((one) => one(null)));
}

export const retentionCases: Cases = {
  "pitfall 25: the longest that can be declared, and the shortest, are stored": async (given) => {
    await fired(given, { seconds: 2 ** 31 - 1 }, { seconds: 1 });
    assert.deepEqual(await stored(given), [[2 ** 31 - 1, null], [1, null]]);
  },

  "a deploy that changes it leaves the rows that were fired before": async (given) => {
    const before = event<null>("kept", { retention: { days: 1 } });
    const after = event<null>("kept", { retention: { days: 2 } });
    await given.fire(given.outbox([], { events: [before] }), before(null));
    await given.fire(given.outbox([], { events: [after] }), after(null));
    assert.deepEqual(await stored(given), [[86_400, null], [172_800, null]]);
  },

  "pitfall 23: a dedupe key is refused where the row goes with its debts, suppressed or not, and nothing is written":
    async (given) => {
      for (const retention of ["succeeded", "settled"] as const) {
        const Short = event<null>("short.lived", { retention });
        const outbox = given.outbox([], { events: [Short] });
        const firing = () => outbox.transaction((tx) => fire(tx, Short(null), { dedupeKey: "k" }));
        for (const attempt of [firing, () => suppressed({ reason: "import" }, firing)]) {
          await assert.rejects(attempt(), (error: Error) => {
            assert.ok(error instanceof TypeError);
            assert.match(error.message, /"short\.lived".*dedupeKey.*retention that is a time/);
            return true;
          });
        }
      }
      await given.nothing();
    },

  "a dedupe key is taken where the event is kept for a time, or for the outbox's own": async (given) => {
    const declared = [
      event<null>("kept.long", { retention: { days: 1 } }),
      event<null>("kept.own"),
    ];
    const outbox = given.outbox([], { events: declared });
    for (const one of declared) {
      await outbox.transaction((tx) => fire(tx, one(null), { dedupeKey: "k" }));
      const again = outbox.transaction((tx) => fire(tx, one(null), { dedupeKey: "k" }));
      await assert.rejects(again, { name: "DuplicateEvent" });
    }
    assert.equal((await given.events()).length, 2);
  },
};
