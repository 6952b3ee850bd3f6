import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import postgres, { type Sql } from "postgres";
import { postgresStorage } from "../../../src/storage/postgres/mod.ts";
import { type Statements, statementsOf } from "../../../src/storage/postgres/statements.ts";
import { type FreshSchema, freshSchema, postgresUrls } from "../../support/databases.ts";

const RELAY = "-c jit=off -c enable_seqscan=off -c enable_bitmapscan=off -c enable_sort=off";

interface Node {
  readonly "Node Type": string;
  readonly "Index Name"?: string;
  readonly "Relation Name"?: string;
  readonly "Rows Removed by Filter"?: number;
  readonly "Actual Rows"?: number;
  readonly "Actual Loops"?: number;
  readonly Plans?: readonly Node[];
}

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const child of node.Plans ?? []) yield* nodesOf(child);
}

/** What reads a table. A bitmap is read by the node below the one that names the table. */
function scansOf(nodes: readonly Node[]): Node[] {
  const others = ["ModifyTable", "LockRows", "Bitmap Heap Scan"];
  return nodes.filter((node) =>
    node["Node Type"] === "Bitmap Index Scan" ||
    node["Relation Name"] !== undefined && !others.includes(node["Node Type"])
  );
}

function rowsRead(nodes: readonly Node[]): number {
  return scansOf(nodes).reduce(
    (sum, scan) =>
      sum + ((scan["Actual Rows"] ?? 0) + (scan["Rows Removed by Filter"] ?? 0)) * (scan["Actual Loops"] ?? 1),
    0,
  );
}

for (const { version, url } of postgresUrls()) {
  describe(`the plans on large tables, Postgres ${version}`, () => {
    let place: FreshSchema;
    let statements: Statements;
    const receivers = Array.from({ length: 10 }, (_, index) => `r${index}`);
    const parameters = (keys: readonly string[]): (string | number | null)[] => [
      JSON.stringify(keys.map((k) => ({ k }))),
      "w",
      100,
      null,
      JSON.stringify(Object.fromEntries(keys.map((k) => [k, 60_000]))),
      0,
    ];

    before(async () => {
      place = await freshSchema(url);
      const storage = postgresStorage(place.sql, { schema: place.schema });
      await storage.migrate();
      statements = statementsOf(place.schema);
      // Statistics of a moment at which nothing was owed, and then 100,000 rows of another lane before 1,000 of ours.
      const { schema, sql } = place;
      await sql.unsafe(`analyze ${schema}.deliveries`);
      await sql.unsafe(`
        insert into ${schema}.events (id, name, version, payload, recorded_at, occurred_at)
          select gen_random_uuid(), 'a', 1, '{}', now(), now() from generate_series(1, 20000);
        insert into ${schema}.deliveries (event_id, receiver_key, max_attempts, available_at, owed_since)
          select e.id, 'other' || n, 1, now() - interval '1 hour', now() from ${schema}.events e, generate_series(1, 5) n;
        insert into ${schema}.deliveries (event_id, receiver_key, max_attempts, available_at, owed_since)
          select e.id, r, 1, now(), now() from (select id from ${schema}.events limit 100) e,
            unnest(array['${receivers.join("','")}']) r;
        insert into ${schema}.history (id, event_id, receiver_key, target, target_digest, attempts, max_attempts, lapses,
            available_at, owed_since, succeeded_at)
          select 1000000 + row_number() over (), e.id, r, t, sha256(convert_to(t, 'UTF8')), 1, 1, 0, now(), now(), now()
          from ${schema}.events e, unnest(array['past', 'gone']) r, unnest(array['a', 'b']) t`);
    });
    after(() => place[Symbol.asyncDispose]());

    async function explained(sql: Sql, text: string, values: (string | number | null)[]): Promise<Node[]> {
      let rows: postgres.Row[] = [];
      await sql.begin(async (tx) => {
        rows = await tx.unsafe(`explain (analyze, timing off, format json) ${text}`, values);
        await tx.unsafe("rollback and chain");
      });
      const [plan] = rows[0]?.["QUERY PLAN"] as [{ Plan: Node }];
      return [...nodesOf(plan.Plan)];
    }

    const settings = { "as a relay has it": RELAY, "as a client has it": "-c jit=on" };
    for (const [name, options] of Object.entries(settings)) {
      for (const count of [1, 10, 100]) {
        it(`pitfall 54: reads little, and by partial indexes alone: ${count} receivers, ${name}`, async () => {
          const sql = postgres(url, { max: 1, onnotice: () => {}, connection: { options } as never });
          try {
            const keys = Array.from({ length: count }, (_, index) => `r${index}`);
            const statement = count === 1
              ? statements.claimOfOne(128)
              : count === 10
              ? statements.claim(10, 512)
              : statements.claimOfMany(128);
            const nodes = await explained(sql, statement.text, parameters(keys));
            for (const scan of scansOf(nodes)) {
              assert.match(scan["Node Type"], /^Index (Only )?Scan$/, JSON.stringify(scan));
              assert.match(scan["Index Name"] ?? "", /^(deliveries_owed|deliveries_pkey|events_pkey)$/);
            }
            const read = rowsRead(nodes);
            assert.ok(read < 3_000, `it read ${read} rows for 100`);
            assert.equal(nodes[0]?.["Actual Rows"], 100);
          } finally {
            await sql.end({ timeout: 1 });
          }
        });
      }
    }

    for (const [name, options] of Object.entries(settings)) {
      it(`a take-over reads one row, ${name}`, async () => {
        const sql = postgres(url, { max: 1, onnotice: () => {}, connection: { options } as never });
        try {
          const { schema } = place;
          const [row] = await sql.unsafe(`
            update ${schema}.deliveries set claimed_by = 'w', claimed_at = '2030-01-01Z', leased_until = '2030-01-01Z'
            where id = (select max(id) from ${schema}.deliveries) returning id::text`);
          const nodes = await explained(sql, statements.take.text, [row!.id, "w", "2030-01-01Z", "task", 1, null]);
          const used = scansOf(nodes).map((scan) => `${scan["Node Type"]} ${scan["Index Name"]}`);
          assert.deepEqual(used.toSorted(), ["Index Scan deliveries_pkey", "Index Scan events_pkey"]);
          assert.equal(rowsRead(nodes), 2);
          assert.equal(nodes[0]?.["Actual Rows"], 1);
        } finally {
          await sql.end({ timeout: 1 });
        }
      });
    }

    it("a replay reads the deliveries of its events, and by indexes alone", async () => {
      const sql = postgres(url, { max: 1, onnotice: () => {} });
      try {
        const { schema } = place;
        const rows = await sql.unsafe(`select id::text from ${schema}.events order by id limit 50`);
        const ids = rows.map(({ id }) => String(id));
        await sql.unsafe(`
          update ${schema}.deliveries set status = 'dead', completed_at = now()
          where receiver_key = 'other1' and event_id in ('${ids.join("','")}')`);
        const debts = ids.flatMap((e) =>
          [["other1", ""], ["other2", ""], ["past", "a"], ["past", "c"]].map(([k, t]) => ({ e, k, t, m: 1 }))
        );
        for (const statistics of [false, true]) {
          if (statistics) await sql.unsafe(`analyze ${schema}.deliveries; analyze ${schema}.history`);
          const locks = await explained(sql, statements.lockEvents.text, [JSON.stringify(ids)]);
          const nodes = await explained(sql, statements.reopen.text, [JSON.stringify(debts), null]);
          for (const scan of scansOf([...locks, ...nodes])) assert.ok(scan["Index Name"], JSON.stringify(scan));
          const indexes = new Set(scansOf(nodes).map((scan) => scan["Index Name"]));
          assert.deepEqual([...indexes].toSorted(), [
            "deliveries_event",
            "deliveries_pkey",
            "history_event",
            "history_id",
          ]);
          const read = rowsRead(nodes);
          assert.ok(read < 1_500, `it read ${read} rows for 200`);
        }
      } finally {
        await sql.end({ timeout: 1 });
      }
    });

    it("stays fast when it was prepared while the table was empty", async () => {
      const empty = await freshSchema(url);
      const sql = postgres(url, { max: 1, onnotice: () => {}, connection: { options: RELAY } as never });
      try {
        const storage = postgresStorage(empty.sql, { schema: empty.schema });
        await storage.migrate();
        const statement = statementsOf(empty.schema).claim(10, 512);
        const run = () => sql.unsafe(statement.text, parameters(receivers), { prepare: true });
        for (let times = 0; times < 8; times++) assert.equal((await run()).length, 0);
        await empty.sql.unsafe(`
          insert into ${empty.schema}.events (id, name, version, payload, recorded_at, occurred_at)
            select gen_random_uuid(), 'a', 1, '{}', now(), now() from generate_series(1, 50000);
          insert into ${empty.schema}.deliveries (event_id, receiver_key, max_attempts, available_at, owed_since)
            select id, 'r' || (random() * 9)::int, 1, now(), now() from ${empty.schema}.events`);
        await run();
        const times: number[] = [];
        for (let n = 0; n < 9; n++) {
          const started = performance.now();
          assert.equal((await run()).length, 100);
          times.push(performance.now() - started);
        }
        const median = times.sort((a, b) => a - b)[4] ?? Infinity;
        assert.ok(median < 40, `a claim of 100 took ${median} ms`);
      } finally {
        await sql.end({ timeout: 1 });
        await empty[Symbol.asyncDispose]();
      }
    });
  });
}
