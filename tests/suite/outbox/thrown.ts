import assert from "node:assert/strict";
import {
  deliverOne,
  deliverPending,
  type DeliveryFailure,
  drainOutbox,
  type Duration,
  NotYet,
  type Outbox,
  PermanentFailure,
  type ReceiverOptions,
  RetryAfter,
} from "../../../mod.ts";
import { drawn } from "./clocked.ts";
import { type Cases, type Given, later, rejection, upTo } from "./given.ts";
import { failing, onOrder, order } from "./samples.ts";

const asked = (wait: Duration, reason = "busy") => new RetryAfter(wait, { reason });

/** How long the row waits from this moment on, in milliseconds. */
async function waitAt(given: Given, outbox: Outbox, now: Date, random = 0.5): Promise<number> {
  await drawn(random, () => deliverPending(outbox, { now }));
  return Number((await given.row()).availableAt) / 1000 - now.getTime();
}

/** What is wrong when it is built, by title, and the error that it then is. */
const misbuilt: Record<string, [build: () => unknown, error: RegExp]> = {
  "a negative wait": [() => asked({ seconds: -1 }), /^RangeError: .*negative wait/],
  "a wait that is NaN": [() => asked({ seconds: Number("soon") }), /^TypeError: .*finite number/],
  "a bare number": [() => asked(120 as never), /^TypeError: .*the bare number 120/],
  "a deferral by nothing": [
    () => new RetryAfter({ seconds: 0 }, { counts: false }),
    /^RangeError: Cannot defer by nothing/,
  ],
  "a moment that has passed": [() => new NotYet(new Date(Date.now() - 1000)), /^RangeError: .*in the future/],
  "a moment without a zone": [() => new NotYet("2999-01-01T00:00:00" as never), /^TypeError: .*until of NotYet/],
};

/** The waits between so many attempts, all of which fail, with this number drawn each time: their sum in seconds. */
async function budget(given: Given, options: ReceiverOptions, random: number): Promise<number> {
  const outbox = given.outbox([failing("mail", options)], { settings: { backoff: {} } });
  await given.fire(outbox, order());
  let sum = 0;
  let now = later({ minutes: 1 });
  for (const attempt of upTo(options.maxAttempts! - 1)) {
    const wait = await waitAt(given, outbox, now, random);
    assert.deepEqual(await given.outcomes(), [`mail failed ${attempt}`]);
    sum += wait / 1000;
    now = new Date(now.getTime() + Math.ceil(wait));
  }
  assert.deepEqual(await deliverPending(outbox, { now }), { dead: 1 });
  return sum;
}

const almostOne = 1 - 2 ** -30;

export const thrownCases: Cases = {
  "pitfall 78: a permanent failure is dead on the attempt that throws it, which counts": async (given) => {
    const told: DeliveryFailure[] = [];
    const onFailure = (failure: DeliveryFailure) => told.push(failure);
    const outbox = given.outbox([failing("partner", { onFailure }, new PermanentFailure("410 Gone"))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    const row = await given.row();
    assert.deepEqual([row.status, row.attempts, row.lastError], ["dead", 1, "PermanentFailure: 410 Gone"]);
    assert.notEqual(row.completedAt, null);
    assert.deepEqual(told.map(({ attempt, status, error }) => [attempt, status, error]), [[1, "dead", row.lastError]]);
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver partner failed delivery ${row.id} on attempt 1 with PermanentFailure; the row is dead`,
    ]);
    assert.deepEqual(await drainOutbox(outbox, { now: later({ hours: 100 }) }), {});
  },

  "pitfall 78: the class is the signal: an error that says 410, or bears the name, is an ordinary failure": async (
    given,
  ) => {
    const outbox = given.outbox([
      failing("says", {}, new Error("410 Gone: retry after 5 seconds")),
      failing("named", {}, Object.assign(new Error("no"), { name: "PermanentFailure" })),
      failing("caused", {}, new Error("no", { cause: new PermanentFailure("410") })),
      failing("asks", {}, Object.assign(new Error("busy"), { name: "RetryAfter", waitMs: 5, counts: false })),
      failing("later", {}, Object.assign(new Error("early"), { name: "NotYet", until: 9_999_999_999_999_999n })),
    ]);
    await given.fire(outbox, order());
    const now = later({ minutes: 1 });
    assert.deepEqual(await deliverPending(outbox, { now }), { failed: 5 });
    for (const { attempts, availableAt } of await given.rows()) {
      assert.deepEqual([attempts, Number(availableAt) / 1000 - now.getTime()], [1, 300_000]);
    }
  },

  "a permanent failure undoes what was written in the receiver's transaction": async (given) => {
    const outbox = given.outbox([
      onOrder("partner", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        throw new PermanentFailure("410 Gone");
      }),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox), { dead: 1 });
    assert.deepEqual([await given.outcomes(), await given.notes()], [["partner dead 1"], []]);
  },

  "an eager attempt and deliverOne read them too": async (given) => {
    const outbox = given.outbox([
      failing("eager", { eager: true }, new PermanentFailure("410 Gone")),
      failing("one", {}, new PermanentFailure("410 Gone")),
    ]);
    await given.fire(outbox, order());
    assert.deepEqual(await given.outcomes(), ["eager dead 1", "one pending 0"]);
    assert.equal(await deliverOne(outbox, (await given.row("one")).id), "dead");
  },

  "a requested retry waits exactly as long as it asked, whatever the curve and the draw": async (given) => {
    const outbox = given.outbox([failing("partner", {}, asked({ seconds: 120 }))]);
    await given.fire(outbox, order());
    for (const [i, random] of [0, 0.5, 0.999].entries()) {
      assert.equal(await waitAt(given, outbox, later({ hours: i + 1 }), random), 120_000);
    }
    assert.deepEqual(await given.outcomes(), ["partner failed 3"]);
    assert.equal((await given.row()).lastError, "RetryAfter: busy");
  },

  "it is claimed once its wait is over, and not before": async (given) => {
    let runs = 0;
    const outbox = given.outbox([
      onOrder("partner", () => {
        if (++runs === 1) throw asked({ seconds: 120 });
      }),
    ]);
    await given.fire(outbox, order());
    const now = later({ minutes: 1 });
    await deliverPending(outbox, { now });
    const after = (ms: number) => ({ now: new Date(now.getTime() + ms) });
    assert.deepEqual(await deliverPending(outbox, after(119_999)), {});
    assert.deepEqual(await deliverPending(outbox, after(120_000)), { succeeded: 1 });
  },

  "so it does when the receiver works in its transaction, whose work is undone": async (given) => {
    const outbox = given.outbox([
      onOrder("partner", async (_, ctx) => {
        await given.note((await ctx.transaction()).client, "undone");
        throw asked({ seconds: 90 });
      }),
    ]);
    await given.fire(outbox, order());
    const before = Date.now();
    assert.deepEqual(await deliverPending(outbox), { failed: 1 });
    const wait = Number((await given.row()).availableAt) / 1000;
    assert.ok(wait >= before + 90_000 - 1 && wait <= Date.now() + 90_000 + 1, `${wait - before} ms`);
    assert.deepEqual([await given.outcomes(), await given.notes()], [["partner failed 1"], []]);
  },

  "pitfall 79: a requested retry spends an attempt, and on the last one the row is dead": async (given) => {
    const told: string[] = [];
    const options = { maxAttempts: 2, onFailure: ({ status }: DeliveryFailure) => told.push(status) };
    const outbox = given.outbox([failing("partner", options, asked({ seconds: 0 }))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 1 }) }), { failed: 1, dead: 1 });
    assert.deepEqual(await given.outcomes(), ["partner dead 2"]);
    assert.deepEqual(told, ["failed", "dead"]);
  },

  "a receiver that expects to be rate limited can be given a wider budget": async (given) => {
    const outbox = given.outbox([failing("partner", { maxAttempts: 30 }, asked({ seconds: 0 }))]);
    await given.fire(outbox, order());
    assert.deepEqual(await deliverPending(outbox, { now: later({ minutes: 1 }) }), { failed: 29, dead: 1 });
  },

  "pitfall 81: what is asked for is cut to a day, with a warning that names both numbers": async (given) => {
    const outbox = given.outbox([failing("partner", {}, asked({ days: 2 }))]);
    await given.fire(outbox, order());
    assert.equal(await waitAt(given, outbox, later({ minutes: 1 })), 86_400_000);
    const { id } = await given.row();
    assert.deepEqual(given.logs.lines("warning"), [
      `receiver partner asked to retry delivery ${id} after 172800 s; cut to maxRetryAfter, 86400 s`,
      `receiver partner failed delivery ${id} on attempt 1 with RetryAfter; the row is failed`,
    ]);
  },

  "pitfall 81: exactly the most is neither cut nor warned of": async (given) => {
    const outbox = given.outbox([failing("partner", {}, asked({ hours: 24 }))]);
    await given.fire(outbox, order());
    assert.equal(await waitAt(given, outbox, later({ minutes: 1 })), 86_400_000);
    assert.equal(given.logs.lines("warning").length, 1);
  },

  "pitfall 81: the most is a setting of its own, and the cap of the curve has no part in it": async (given) => {
    const settings = { maxRetryAfter: { hours: 2 }, backoff: { base: { seconds: 1 }, cap: { seconds: 1 } } };
    const outbox = given.outbox([
      failing("partner", {}, asked({ hours: 1 })),
      failing("other", {}, asked({ hours: 3 })),
    ], {
      settings,
    });
    await given.fire(outbox, order());
    const now = later({ minutes: 1 });
    await deliverPending(outbox, { now });
    const waits = (await given.rows()).map(({ availableAt }) => Number(availableAt) / 1000 - now.getTime());
    assert.deepEqual(waits, [3_600_000, 7_200_000]);
    assert.match(given.logs.lines("warning").join("\n"), /receiver other asked .* after 10800 s; cut to .* 7200 s/);
  },

  ...Object.fromEntries(
    Object.entries(misbuilt).map(([title, [build, error]]): [string, (given: Given) => Promise<void>] => [
      `pitfalls 82 and 98: ${title} is refused when it is built, and is an ordinary failure that counts`,
      async (given) => {
        const told: DeliveryFailure[] = [];
        const onFailure = (failure: DeliveryFailure) => told.push(failure);
        const outbox = given.outbox([
          onOrder("mail", () => {
            throw build();
          }, { giveUpAfter: { days: 2 }, onFailure }),
        ]);
        await given.fire(outbox, order(1), order(2));
        const now = later({ minutes: 1 });
        assert.deepEqual(await deliverPending(outbox, { now }), { failed: 2 });
        for (const row of await given.rows()) {
          assert.deepEqual([row.status, row.attempts, row.dueAt], ["failed", 1, null]);
          assert.match(row.lastError!, error);
          assert.equal(Number(row.availableAt) / 1000 - now.getTime(), 300_000);
        }
        assert.equal(told.length, 2);
      },
    ]),
  ),

  "an inline receiver that throws one of them vetoes, as with any error": async (given) => {
    const errors = [new PermanentFailure("no"), asked({ seconds: 1 }), new NotYet(later({ hours: 1 }))];
    for (const error of errors) {
      const outbox = given.outbox([failing("veto", { mode: "inline" }, error), onOrder("stock")]);
      assert.equal(await rejection(given.fire(outbox, order())), error);
      await given.nothing();
    }
  },

  "an on-commit receiver that throws one of them is logged, as with any error": async (given) => {
    const errors = {
      PermanentFailure: new PermanentFailure("no"),
      RetryAfter: asked({ days: 9 }),
      NotYet: new NotYet(later({ hours: 1 })),
    };
    for (const [name, error] of Object.entries(errors)) {
      await given.fire(given.outbox([failing("notify", { mode: "on-commit" }, error)]), order());
      const lines = given.logs.lines("error");
      assert.equal(lines.at(-1), `on-commit receiver notify failed with ${name}; nothing will run it again`);
    }
    assert.equal(given.logs.lines("error").length, 3);
    assert.deepEqual([(await given.events()).length, await given.rows(), given.logs.lines("warning")], [3, [], []]);
  },

  "pitfall 74: base 120 s, cap 1800 s and ten attempts last three hours at most": async (given) => {
    const options = { backoff: { base: { seconds: 120 }, cap: { seconds: 1800 } }, maxAttempts: 10 };
    assert.ok(Math.abs(await budget(given, options, almostOne) - 10_800) < 0.1);
  },

  "pitfall 74: and an hour and a half on average": async (given) => {
    const options = { backoff: { base: { seconds: 120 }, cap: { seconds: 1800 } }, maxAttempts: 10 };
    assert.equal(await budget(given, options, 0.5), 5400);
  },

  "pitfall 74: eight attempts by the default curve last 254 seconds at most": async (given) => {
    assert.ok(Math.abs(await budget(given, { maxAttempts: 8 }, almostOne) - 254) < 0.1);
  },

  "pitfall 73: the first retry can come at once": async (given) => {
    const outbox = given.outbox([failing("mail", { maxAttempts: 8 })]);
    await given.fire(outbox, order());
    const counts = await drawn(0, () => deliverPending(outbox, { now: later({ minutes: 1 }) }));
    assert.deepEqual(counts, { failed: 7, dead: 1 });
  },
};
