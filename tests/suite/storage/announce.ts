import assert from "node:assert/strict";
import type { Cases, Given } from "./given.ts";
import { range } from "./samples.ts";

/** What is recorded, as `app key release`. */
async function listed(given: Given): Promise<string[]> {
  const rows = await given.database.query(
    `select app, receiver_key, release from ${given.database.table("receivers")}`,
  );
  return rows.map(({ app, receiver_key: key, release }) => `${app} ${key} ${release}`).sort();
}

export const announceCases: Cases = {
  "records who lists what": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: ["a", "b"], now: given.now });
    assert.deepEqual(await listed(given), ["shop a 1", "shop b 1"]);
  },

  "the same again changes nothing": async (given) => {
    for (const _ of range(2)) {
      await given.storage.announce({ app: "shop", release: "1", receivers: ["a"], now: given.now });
    }
    assert.deepEqual(await listed(given), ["shop a 1"]);
  },

  "each app has its own list": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: ["a"], now: given.now });
    await given.storage.announce({ app: "mail", release: "7", receivers: ["a"], now: given.now });
    assert.deepEqual(await listed(given), ["mail a 7", "shop a 1"]);
  },

  "a key that appears twice is recorded once": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: ["a", "a"], now: given.now });
    assert.deepEqual(await listed(given), ["shop a 1"]);
  },

  "no receivers is no error": async (given) => {
    await given.storage.announce({ app: "shop", release: "1", receivers: [], now: given.now });
    assert.deepEqual(await listed(given), []);
  },

  "processes that announce at once do not block each other": async (given) => {
    const keys = range(50).map((n) => `receiver-${n}`);
    await Promise.all(
      range(10).map((n) => {
        const by = n % 2 ? given.storage : given.second;
        const receivers = n % 3 ? keys : keys.toReversed();
        return by.announce({ app: "shop", release: "1", receivers, now: given.now });
      }),
    );
    assert.equal((await listed(given)).length, 50);
  },
};
