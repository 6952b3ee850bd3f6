import { latencyOwed } from "../contestants/latency_owed.ts";
import { latencyRawLibsql, latencyRawPostgres } from "../contestants/latency_raw.ts";
import type { Waking } from "../contestants/waking.ts";
import type { OpenPlace, Places } from "../harness/places.ts";
import type { Contestant, Question } from "../harness/question.ts";
import { quantile } from "../harness/statistics.ts";
import { createUserTables } from "../harness/tables.ts";

/** How soon a relay that has nothing to do gets to work. */
export function latencies(places: Places): Question[] {
  const about = "commit to receiver start, the relay asleep; milliseconds";
  return [
    {
      name: "latency/postgres",
      about: `${about}; the wake travels by NOTIFY`,
      n: 200,
      contestants: [
        waking("raw", () => places.postgres(), latencyRawPostgres),
        waking("owed", () => places.postgres(), latencyOwed),
      ],
      targets: [{ contestant: "owed", figure: "p50", of: "figure", below: 5 }],
    },
    {
      name: "latency/libsql",
      about: `${about}; the wake stays in the process`,
      n: 200,
      contestants: [
        waking("raw", () => places.libsql(), latencyRawLibsql),
        waking("owed", () => places.libsql(), latencyOwed),
      ],
    },
  ];
}

function waking(name: string, open: OpenPlace, start: (url: string) => Promise<Waking>): Contestant {
  return {
    name,
    async run(n) {
      await using place = await open();
      await createUserTables(place.url);
      await place.settle();
      await using waking = await start(place.url);
      const times: number[] = [];
      for (let id = 1; id <= n + 5; id++) {
        // Long enough to be asleep again, at any phase of whatever turns meanwhile.
        await new Promise((resolve) => setTimeout(resolve, 20 + Math.random() * 20));
        const ms = await waking.fireOne(id);
        // The first ones connect and prepare.
        if (id > 5) times.push(ms);
      }
      return { "p50": quantile(times, 0.5), "p99": quantile(times, 0.99) };
    },
  };
}
