import assert from "node:assert/strict";
import type { NewEvent } from "../../../src/storage/records.ts";
import type { Reopened, Storage } from "../../../src/storage/storage.ts";
import { takeTime } from "../../support/wait_for.ts";
import { all, type Cases, type Given } from "./given.ts";
import { wanted } from "./reopen.ts";
import { dead, range, succeeded } from "./samples.ts";

const keys = ["a", "b", "c"];

function replay(by: Storage, given: Given, events: readonly NewEvent[]): Promise<Reopened> {
  const reopenings = events.map((event) => wanted(event, ...keys.map((receiverKey) => ({ receiverKey }))));
  return by.reopen(reopenings, given.now);
}

function sum(done: readonly Reopened[]): Reopened {
  return {
    reopened: done.reduce((total, { reopened }) => total + reopened, 0),
    added: done.reduce((total, { added }) => total + added, 0),
  };
}

/** Insists that each event owes each receiver once. */
async function once(given: Given, events: readonly NewEvent[]): Promise<void> {
  const rows = await given.rows();
  const debts = rows.map((row) => `${row.eventId} ${row.receiverKey}`);
  assert.deepEqual(debts.toSorted(), events.flatMap(({ id }) => keys.map((key) => `${id} ${key}`)).toSorted());
}

async function claimAll(given: Given, by = given.storage) {
  return await given.claim({ by, receivers: keys, limit: 10_000 });
}

export const reopenRaceCases: Cases = {
  "of two at once, in whatever order, one reopens and adds": async (given) => {
    for (const _ of range(5)) {
      const events = await Promise.all(range(20).map(() => given.fire({ receivers: ["a", "b"] })));
      const claimed = await claimAll(given);
      const batch = claimed.map(({ fence, receiverKey }) => ({
        fence,
        settlement: receiverKey === "a" ? succeeded : dead(),
      }));
      await given.storage.settle(batch, given.now);
      const done = await Promise.all([
        replay(given.storage, given, events),
        replay(given.second, given, events.toReversed()),
        replay(given.second, given, events),
      ]);
      assert.deepEqual(sum(done), { reopened: 40, added: 20 });
      await once(given, events);
      assert.ok((await given.rows()).every((row) => row.status === "pending"));
      await given.database.clear();
    }
  },

  "claimed rows that end meanwhile are either left or reopened": async (given) => {
    for (const settlement of [succeeded, dead()]) {
      for (const _ of range(5)) {
        const events = await Promise.all(range(30).map(() => given.fire({ receivers: keys })));
        const claimed = await claimAll(given);
        const parts = range(6).map((n) => claimed.slice(n * 15, n * 15 + 15));
        const [first, second, ...answers] = await Promise.all([
          replay(given.second, given, events),
          replay(given.second, given, events),
          ...parts.map((part) => given.storage.settle(all(part, settlement), given.now)),
        ]);
        assert.deepEqual(new Set(answers.flat()), new Set(["applied"]));
        await once(given, events);
        const rows = await given.rows();
        const open = rows.filter((row) => row.status === "pending");
        assert.deepEqual(sum([first, second]), { reopened: open.length, added: 0 });
        assert.ok(rows.every((row) => ["pending", settlement.kind].includes(row.status)));
        await given.database.clear();
      }
    }
  },

  "again and again while a relay pays, each life is paid once": async (given) => {
    const events = await Promise.all(range(20).map(() => given.fire({ receivers: keys })));
    let replaying = true;
    let paid = 0;
    const pay = async () => {
      const claimed = await claimAll(given);
      const answers = await given.storage.settle(all(claimed, succeeded), given.now);
      assert.deepEqual(answers, claimed.map(() => "applied"));
      paid += claimed.length;
      return claimed.length;
    };
    const paying = async () => {
      while (replaying) await pay();
    };
    const replays = async () => {
      const orders = [events, events.toReversed()];
      const stores = [given.storage, given.second];
      const each = stores.map(async (by, n) => {
        const done: Reopened[] = [];
        for (const _ of range(15)) done.push(await replay(by, given, orders[n]!));
        return sum(done);
      });
      return sum(await Promise.all(each).finally(() => replaying = false));
    };
    const [done] = await Promise.all([replays(), paying()]);
    while (await pay() > 0);
    await once(given, events);
    assert.equal(done.added, 0);
    assert.equal(paid, 60 + done.reopened);
  },

  "a receiver's open transaction is neither waited for nor disturbed": async (given) => {
    const event = await given.fire({ receivers: keys });
    const [held, other] = await claimAll(given);
    await given.settled(other!, dead());
    const opened = await given.acknowledge(held!);
    assert.deepEqual(await replay(given.second, given, [event]), { reopened: 1, added: 0 });
    assert.equal(await opened.finish(succeeded), "applied");
    await once(given, [event]);
    assert.equal((await given.row(held!.fence.id)).status, "succeeded");
  },

  "an event that is being deleted is waited for and passed over": async (given) => {
    const [event, other] = [await given.fire({ receivers: ["a"] }), await given.fire({ receivers: keys })];
    await given.storage.settle(all(await claimAll(given), dead()), given.now);
    const deleted = Promise.withResolvers<void>();
    const goOn = Promise.withResolvers<void>();
    const deletion = given.storage.yielding(() =>
      given.database.begin(async (client) => {
        const { table, execute } = given.database;
        await execute(client, `delete from ${table("events")} where id = '${event.id}'`);
        await execute(client, `delete from ${table("deliveries")} where event_id = '${event.id}'`);
        deleted.resolve();
        await goOn.promise;
      })
    );
    await deleted.promise;
    const replayed = replay(given.second, given, [event, other]);
    takeTime(50).then(goOn.resolve); // long enough for it to reach the database, and right if it does not
    await deletion;
    assert.deepEqual(await replayed, { reopened: 3, added: 0 });
    await once(given, [other]);
  },

  "an event that others delete once nothing is owed goes with its debts, or stays with them": async (given) => {
    const { table, execute, query } = given.database;
    const prune = ({ id }: NewEvent) =>
      given.storage.yielding(() =>
        given.database.begin(async (client) => {
          await execute(client, `update ${table("events")} set topic = topic where id = '${id}'`);
          const ofEvent = `from ${table("deliveries")} where event_id = '${id}'`;
          const owed = await execute(client, `select id ${ofEvent} and completed_at is null`);
          if (owed.length > 0) return;
          await execute(client, `delete ${ofEvent}`);
          await execute(client, `delete from ${table("events")} where id = '${id}'`);
        })
      );
    for (const n of range(40)) {
      const event = await given.fire({ receivers: ["a"] });
      await given.storage.settle(all(await claimAll(given), dead()), given.now);
      const both = [() => replay(given.second, given, [event]), () => prune(event)];
      await Promise.all((n % 2 === 0 ? both : both.toReversed()).map((each) => each()));
    }
    const left = await query(
      `select id from ${table("deliveries")} where event_id not in (select id from ${table("events")})`,
    );
    assert.deepEqual(left, []);
  },
};
