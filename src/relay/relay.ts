import { setImmediate } from "node:timers";
import { type Core, coreOf, type Outbox } from "../core.ts";
import { claimDue, openKeys } from "../delivery/claim.ts";
import { clampedConcurrency } from "../delivery/concurrency.ts";
import type { DeliveryCounts } from "../delivery/counts.ts";
import { Line } from "../delivery/line.ts";
import { MigrationsMissing } from "../errors.ts";
import { errorType, logger } from "../log.ts";
import type { ClaimedDelivery } from "../storage/records.ts";
import { Ahead } from "./ahead.ts";
import { Alarm } from "./alarm.ts";
import { Idle } from "./idle.ts";
import { type RelayOptions, type ResolvedRelayOptions, resolveRelayOptions } from "./options.ts";
import { Outage } from "./outage.ts";
import { shutDown } from "./shutdown.ts";
import { upkeep } from "./upkeep.ts";

const log = logger(["relay"]);
// Claimed rows wait this long for a free slot before another relay may have them.
const PATIENCE_MS = 250;

/** What one claim brought. */
interface Claim {
  readonly rows: ClaimedDelivery[];
  /** The monotonic moment before it was sent. */
  readonly at: number;
}

/**
 * Pays every debt until it is stopped: claims what is due, runs up to `concurrency` deliveries at a time, records the
 * outcomes, sleeps until the next row is due, a wake, or the poll. It stays up when its database goes away. It installs
 * no signal handlers.
 *
 * @returns how many attempts ended in which status, once it was stopped and all that it had claimed is recorded or
 * handed back
 * @throws {MigrationsMissing} when the schema is not up to date
 * @throws {TypeError | RangeError} for an option out of range
 * @throws the database's error when it does not answer at the start
 *
 * @example In a process of your own
 * ```ts
 * import { type Outbox, runRelay } from "@owed/outbox";
 *
 * async function relay(outbox: Outbox, signal: AbortSignal) {
 *   const counts = await runRelay(outbox, { signal, grace: { seconds: 30 } });
 *   console.log("stopped", counts);
 * }
 * console.log(typeof relay);
 * ```
 */
export async function runRelay(outbox: Outbox, options: RelayOptions = {}): Promise<DeliveryCounts> {
  const core = coreOf(outbox, "run a relay");
  const resolved = resolveRelayOptions(core, options);
  const missing = await core.storage.pendingMigrations();
  if (missing.length > 0) {
    throw new MigrationsMissing(core.storage.name, missing);
  }

  const alarm = new Alarm(core.clock);
  const line = new Line(core, {
    concurrency: clampedConcurrency(core, resolved.concurrency),
    pauses: resolved.pauses,
    onMore: () => alarm.ring(),
  });
  const ended = new AbortController();
  const signal = AbortSignal.any([resolved.signal, ended.signal]);
  if (core.settings.wake === "notify") await core.storage.listen(() => alarm.ring(), signal);
  const keeping = upkeep(core, line, { ...resolved, signal });
  resolved.onReady();
  const work = loop(core, line, alarm, resolved).finally(async () => {
    ended.abort();
    await keeping;
    await line.idle();
  });
  try {
    await shutDown(core, line, work, resolved);
  } finally {
    line.close();
  }
  return line.counts;
}

async function loop(core: Core, line: Line, alarm: Alarm, options: ResolvedRelayOptions): Promise<void> {
  const { signal, batchSize } = options;
  const outage = new Outage(core.settings.pollMs);
  const sizes = new Ahead(batchSize);
  const idle = new Idle(core.settings.pollMs);
  let ahead: Promise<Claim> | undefined;
  // A row that lapsed before runs while nothing else is claimed here (see Line.start), so more than one is in vain.
  let suspects = false;
  for (let pass = 0; pass < options.passes && !signal.aborted; pass++) {
    if (ahead === undefined && sizes.limit(line.free) === 0) await line.hasFree(signal);
    if (signal.aborted) break;
    if (alarm.rang) idle.over();
    alarm.reset();
    try {
      const claimed: Claim = await (ahead ?? claim(core, options, suspects ? 1 : sizes.limit(line.free)));
      ahead = undefined;
      // The answer to a claim may have been lost: rows leased to us that we never saw.
      if (outage.over()) await core.storage.releaseUnknown(options.worker, [...line.held, ...idsOf(claimed)]);
      suspects = claimed.rows.some((row) => row.lapses > 0);
      if (claimed.rows.length === 0) {
        await alarm.sleep(await sleepMs(core, options, idle), signal);
        continue;
      }
      idle.over();
      if (sizes.isQuick && !suspects && claimed.rows.length === batchSize && pass + 1 < options.passes) {
        ahead = claim(core, options, batchSize);
        // Looked at in the next pass; until then its failure is nobody's.
        ahead.catch(() => {});
        // A driver may keep a short statement until the turn of the event loop is over, and receivers that never wait
        // would let that come only after the batch: the claim would overlap nothing.
        await turns(2);
      }
      const { free } = line;
      // One that lapsed before waits until nothing else runs, so it waits here for as long as that takes.
      const patienceMs = suspects && claimed.rows.length === 1 ? Infinity : PATIENCE_MS;
      const started = await line.start(claimed.rows, claimed.at, signal, patienceMs);
      if (!suspects) sizes.learn(claimed.rows.length, started, free);
    } catch (error) {
      ahead = undefined;
      await core.clock.sleep(outage.failed("claim", error), signal);
    }
  }
  await handBack(line, ahead);
}

async function claim(core: Core, { worker, lane, pauses }: ResolvedRelayOptions, limit: number): Promise<Claim> {
  const at = performance.now();
  const rows = await claimDue(core, { worker, limit, lane, pauses, now: core.clock.now() });
  return { rows, at };
}

async function sleepMs(core: Core, { lane, pauses }: ResolvedRelayOptions, idle: Idle): Promise<number> {
  const keys = openKeys(core, lane, pauses);
  // A relay whose lanes are all set aside does not even ask.
  const dueMs = keys.length === 0 ? null : await core.storage.nextDue(keys, core.clock.now());
  // A pause that ended while the database answered: its lane was not asked for.
  if (openKeys(core, lane, pauses).length > keys.length) return 0;
  return Math.min(idle.sleepMs(dueMs), pauses.nextEndMs ?? Infinity);
}

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise<void>((resolve) => setImmediate(resolve));
}

// A claim that was sent ahead of a stop: its rows never start, so others may have them at once.
async function handBack(line: Line, ahead: Promise<Claim> | undefined): Promise<void> {
  try {
    const claimed = await ahead;
    if (claimed) await line.start(claimed.rows, claimed.at, AbortSignal.abort());
  } catch (error) {
    log.warn("could not hand back the last claim ({error}); its leases will lapse", { error: errorType(error) });
  }
}

function idsOf({ rows }: Claim): string[] {
  return rows.map((row) => row.fence.id);
}
