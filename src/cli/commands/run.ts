import { object } from "@optique/core/constructs";
import { message, optionName, text } from "@optique/core/message";
import type { InferValue } from "@optique/core/parser";
import { command, constant, option } from "@optique/core/primitives";
import type { DeliveryCounts } from "../../delivery/counts.ts";
import { deliverPending } from "../../delivery/deliver_pending.ts";
import { DEFAULT_LANE, requireLane } from "../../delivery/lanes.ts";
import { workerId as workerIdOf } from "../../delivery/worker.ts";
import { logger } from "../../log.ts";
import { coreOf, type Outbox } from "../../core.ts";
import { runRelay } from "../../relay/relay.ts";
import { exampleFooter } from "../examples.ts";
import { Misused } from "../exit_codes.ts";
import { type App, openApp, requireMigrated } from "../open_app.ts";
import { give } from "../output.ts";
import { appArgument, durationOption, integerOption, wordOption } from "../values.ts";

const log = logger(["relay"]);

/** `relay [run] [APP]`. */
export const runParser = command(
  "run",
  object({
    command: constant("run"),
    app: appArgument(),
    once: option("--once", { description: message`Claim until nothing is due, then exit: for a scheduled job.` }),
    limit: integerOption("--limit", { min: 0, max: 10_000 }, message`Claim once, at most N deliveries, then exit.`),
    concurrency: integerOption(
      "--concurrency",
      { min: 1, max: 1000 },
      message`Deliveries that run at a time; the outbox's setting (10) unless given. 1 keeps to strict order.`,
    ),
    batchSize: integerOption(
      "--batch-size",
      { min: 1, max: 1000 },
      message`Deliveries of one claim; the outbox's setting (100) unless given. Not with ${optionName("--limit")}.`,
    ),
    passes: integerOption("--passes", { min: 1 }, message`Exit after N looks at the database.`),
    grace: durationOption(
      "--grace",
      message`How long receivers may run on after the first signal: seconds, or 30s, 2m. Then they are given back, and the attempt does not count. Without it they may finish.`,
    ),
    lane: wordOption(
      "--lane",
      message`The lane to serve; ${
        text("default")
      } unless given: every receiver that names none, and rows of unknown ones.`,
    ),
    allLanes: option("--all-lanes", { description: message`Serve every lane.` }),
    workerId: wordOption("--worker-id", message`The name that its claims bear; host and process id unless given.`),
    json: option("--json", { description: message`Print the counts as JSON.` }),
  }),
  {
    brief: message`Pay what is owed, until a signal. What a command line without a command means.`,
    description: message`Delivers what is due to its receivers, and waits for more. \
The first SIGTERM or SIGINT lets what runs finish, hands back the rest and exits with 0; a second exits at once. \
Prints at the end how many deliveries ended in which status.`,
    footer: exampleFooter(
      ["relay ./shop/outbox.ts", "until a signal"],
      ["relay ./shop/outbox.ts --grace 30s", "in a container that is killed after 40 seconds"],
      ["relay ./shop/outbox.ts --once --json", "from a scheduler"],
      ["relay ./shop/outbox.ts --lane mail --batch-size 5", "for the receivers of a slow lane alone"],
      ["DATABASE_URL=file:shop.db relay", "the example shop, in a file"],
    ),
  },
);

/** What {@linkcode runParser} read. */
export type RunArguments = InferValue<typeof runParser>;

/** Delivers as the arguments say, and prints the counts. */
export async function run(args: RunArguments, stop: AbortSignal): Promise<void> {
  refuseContradictions(args);
  const app = await unlessStopped(start(args), stop);
  if (app === undefined) return await printCounts({}, args);
  const { outbox } = app;
  try {
    await printCounts(await deliver(outbox, args, stop), args, stop);
  } finally {
    await outbox.close();
  }
}

function refuseContradictions({ once, limit, batchSize, passes, grace, lane, allLanes }: RunArguments): void {
  if (lane !== undefined && allLanes) {
    throw new Misused("--all-lanes serves every lane, so it takes no --lane; give one of them");
  }
  if (limit !== undefined && batchSize !== undefined) {
    throw new Misused("--limit is one claim, so it takes no --batch-size; give one of them");
  }
  if (!once && limit === undefined) return;
  const mode = once ? "--once" : "--limit";
  if (passes !== undefined) throw new Misused(`${mode} ends by itself, so it takes no --passes; give one of them`);
  if (grace !== undefined) throw new Misused(`${mode} lets what runs finish, so it takes no --grace; leave it out`);
}

async function start({ app: name, workerId, ...args }: RunArguments): Promise<App> {
  const app = await openApp(name);
  requireKnown(app.outbox, servedLane(args));
  await requireMigrated(app);
  log.info("worker {worker} pays what {app} owes in {database}", {
    worker: workerIdOf(workerId),
    app: app.name,
    database: app.database,
  });
  return app;
}

/** The lane that the arguments ask for; null for all of them. */
function servedLane({ lane, allLanes }: Pick<RunArguments, "lane" | "allLanes">): string | null {
  return allLanes ? null : lane ?? DEFAULT_LANE;
}

function requireKnown(outbox: Outbox, lane: string | null): void {
  try {
    requireLane(coreOf(outbox, "run a relay"), lane);
  } catch (error) {
    throw new Misused((error as Error).message);
  }
}

/** Nothing is claimed yet while the relay starts, so a stop needs not wait for a database that does not answer. */
async function unlessStopped<T>(work: Promise<T>, stop: AbortSignal): Promise<T | undefined> {
  const stopped = Promise.withResolvers<undefined>();
  const resolve = () => stopped.resolve(undefined);
  stop.addEventListener("abort", resolve);
  try {
    return await Promise.race([work, stopped.promise]);
  } finally {
    stop.removeEventListener("abort", resolve);
  }
}

async function deliver(outbox: Outbox, args: RunArguments, signal: AbortSignal): Promise<DeliveryCounts> {
  const { once, limit, grace, passes, batchSize, workerId } = args;
  const concurrency = args.concurrency ?? coreOf(outbox, "run a relay").settings.concurrency;
  const common = { signal, concurrency, lane: servedLane(args), ...given({ batchSize, workerId }) };
  if (once || limit !== undefined) return await deliverPending(outbox, { ...common, ...given({ limit }) });
  return await runRelay(outbox, {
    ...common,
    ...given({ grace, passes }),
    onReady: () => log.info("the relay is ready"),
  });
}

/** The options that were given: an option that is there and undefined is another thing to the type checker. */
function given<T extends object>(options: T): { [K in keyof T]?: NonNullable<T[K]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: NonNullable<T[K]>;
  };
}

async function printCounts(
  counts: DeliveryCounts,
  { json, once, limit }: RunArguments,
  stop?: AbortSignal,
): Promise<void> {
  const { dead = 0, failed = 0, orphaned = 0, pending = 0, succeeded = 0 } = counts;
  const all = { dead, failed, orphaned, pending, succeeded };
  if (json) return await give(JSON.stringify(all));
  const parts = Object.entries(all).filter(([, count]) => count > 0)
    .map(([status, count]) => `${count} ${status}`);
  const lookedAtAll = (once || limit !== undefined) && stop?.aborted === false;
  await give(parts.join(", ") || (lookedAtAll ? "Nothing due." : "Nothing delivered."));
}
