import process, { env } from "node:process";
import { createOutbox, type DeliveryContext, event, type Outbox, receiver, type Storage } from "../../mod.ts";
import { takeTime } from "../support/wait_for.ts";

/** One piece of work for the receiver `key`. */
export const Work = event<{ n: number }>("journey.work");
export const Poison = event<{ n: number }>("journey.poison");

/** What the receivers do is set by the environment, so that two relays can differ. */
const takesMs = Number(env.JOURNEY_TAKES_MS ?? 0);
const holds = env.JOURNEY_HOLDS === "1";

/** Says on the standard output that an attempt began. */
function tell(what: string, ctx: DeliveryContext): void {
  console.log(`${what} ${ctx.receiverKey} ${ctx.deliveryId} ${ctx.attempt}`);
}

/** Writes one row in the acknowledgement's transaction. A process that holds never comes to an end here. */
const reserve = receiver(Work, "reserve", async (work, ctx) => {
  tell("ran", ctx);
  const { client } = await ctx.transaction();
  await execute(client, `insert into effects (n, attempt) values (${work.n}, ${ctx.attempt})`);
  if (holds) {
    tell("holding", ctx);
    await new Promise(() => setInterval(() => {}, 60_000));
  }
  if (takesMs > 0) await takeTime(takesMs);
});

/** Works outside of the database. */
const mail = receiver(Work, "mail", async (_work, ctx) => {
  tell("ran", ctx);
  if (takesMs > 0) await takeTime(takesMs);
});

/** Kills its process every time. */
const kill = receiver(Poison, "kill", (_work, ctx) => {
  tell("ran", ctx);
  process.kill(process.pid, "SIGKILL");
  return new Promise<void>(() => {});
});

export function outbox(storage: Storage): Outbox {
  return createOutbox({
    storage,
    receivers: [reserve, mail, kill],
    settings: {
      lease: { milliseconds: Number(env.JOURNEY_LEASE_MS ?? 60_000) },
      poll: { milliseconds: 50 },
      backoff: { base: { milliseconds: 20 }, cap: { milliseconds: 100 } },
      maxLapses: Number(env.JOURNEY_MAX_LAPSES ?? 2),
      timeout: null,
    },
  });
}

/** Runs SQL on a driver's transaction, whichever it is. */
export async function execute(client: unknown, sql: string): Promise<Record<string, unknown>[]> {
  const driver = client as {
    unsafe?(sql: string): Promise<Record<string, unknown>[]>;
    execute?(sql: string): Promise<{ rows: Record<string, unknown>[] }>;
  };
  const rows = driver.unsafe ? await driver.unsafe(sql) : (await driver.execute!(sql)).rows;
  return rows.map((row) => ({ ...row }));
}
