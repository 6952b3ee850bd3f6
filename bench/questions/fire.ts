import type { FireBy } from "../contestants/firing.ts";
import { firesOwedLibsql, firesOwedPostgres } from "../contestants/fire_owed.ts";
import { firesQueuePostgres, firesRawLibsql, firesRawPostgres } from "../contestants/fire_raw.ts";
import type { OpenPlace, Places } from "../harness/places.ts";
import type { Contestant, Question } from "../harness/question.ts";
import { createUserTables } from "../harness/tables.ts";

/** What an event costs the transaction that it is fired in. */
export function fires(places: Places): Question[] {
  return [1, 5].flatMap((receivers): Question[] => [
    {
      name: `fire-${receivers}/postgres`,
      about: `a business row and an event with ${receivers} receiver(s) in a transaction, 10 connections`,
      n: 4_000,
      contestants: [
        firing("raw, the same rows by hand", () => places.postgres(), receivers, 10, firesRawPostgres),
        firing("raw, a row a receiver and no event", () => places.postgres(), receivers, 10, firesQueuePostgres),
        firing("owed", () => places.postgres(), receivers, 10, firesOwedPostgres),
      ],
      targets: [{ contestant: "owed", figure: "statements a fire", of: "figure", below: 2 }],
    },
    {
      name: `fire-${receivers}/libsql`,
      about: `a business row and an event with ${receivers} receiver(s) in a transaction, one at a time`,
      n: 2_000,
      contestants: [
        firing("raw, the same rows by hand", () => places.libsql(), receivers, 1, firesRawLibsql),
        firing("owed", () => places.libsql(), receivers, 1, firesOwedLibsql),
      ],
      targets: [{ contestant: "owed", figure: "statements a fire", of: "figure", below: 3 }],
    },
  ]);
}

function firing(name: string, open: OpenPlace, receivers: number, connections: number, fireBy: FireBy): Contestant {
  return {
    name,
    async run(n) {
      await using place = await open();
      await createUserTables(place.url);
      await using firing = await fireBy(place.url, receivers, connections);
      const statements = await firing.statements?.();
      // So that every connection is there, and has prepared what it will run.
      await inParallel(connections, 20 * connections, firing.fire);
      await place.settle();
      const startedAt = performance.now();
      await inParallel(connections, n, firing.fire);
      const seconds = (performance.now() - startedAt) / 1000;
      await firing.check(n + 20 * connections + (statements === undefined ? 0 : 1));
      return { "per second": n / seconds, ...(statements !== undefined && { "statements a fire": statements }) };
    },
  };
}

async function inParallel(lines: number, n: number, fire: (id: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(Array.from({ length: lines }, async () => {
    while (next < n) await fire(next++);
  }));
}
