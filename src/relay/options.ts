import { optional } from "../duration.ts";
import { refuseUnknown, requireInteger } from "../declaration/refusals.ts";
import type { Duration } from "../duration.ts";
import type { Core } from "../core.ts";
import { DEFAULT_LANE, requireLane } from "../delivery/lanes.ts";
import { Pauses } from "../delivery/pauses.ts";
import { workerName } from "../delivery/worker.ts";

const OPTIONS = ["signal", "grace", "concurrency", "batchSize", "lane", "passes", "workerId", "onReady"];

/** Options of {@linkcode runRelay}. */
export interface RelayOptions {
  /** Stops the relay: what runs finishes, the rest is handed back. Its abort is the only way to end it. */
  readonly signal?: AbortSignal;
  /** After a stop, how long running receivers may take before their signal aborts and they are given back uncounted. */
  readonly grace?: Duration;
  /** Deliveries that run at a time. Default: the outbox's setting. */
  readonly concurrency?: number;
  /** Rows of one claim. Default: the outbox's setting. */
  readonly batchSize?: number;
  /** The lane to serve; null for all. Default `"default"`: every receiver that names no lane, and unknown ones. */
  readonly lane?: string | null;
  /** Ends after this many claims, for tests. */
  readonly passes?: number;
  /** Shown in the database as the one who claims. Default: host and process id. */
  readonly workerId?: string;
  /** Called once the relay has looked at the database and listens. */
  readonly onReady?: () => void;
}

/** The options as the loop reads them. */
export interface ResolvedRelayOptions {
  readonly signal: AbortSignal;
  readonly graceMs: number | undefined;
  readonly concurrency: number;
  readonly batchSize: number;
  readonly lane: string | null;
  readonly pauses: Pauses;
  readonly passes: number;
  readonly worker: string;
  readonly onReady: () => void;
}

/**
 * Checks the options of a relay and fills in the defaults.
 *
 * @throws {TypeError | RangeError} naming the option and what is allowed
 */
export function resolveRelayOptions(core: Core, options: RelayOptions): ResolvedRelayOptions {
  refuseUnknown(options, OPTIONS, "run a relay");
  const { concurrency = core.settings.concurrency, batchSize = core.settings.batchSize, passes } = options;
  const { lane = DEFAULT_LANE } = options;
  requireLane(core, lane);
  requireInteger(concurrency, 1, 1000, "the option concurrency");
  requireInteger(batchSize, 1, 1000, "the option batchSize");
  if (passes !== undefined) requireInteger(passes, 1, Number.MAX_SAFE_INTEGER, "the option passes");
  return {
    signal: options.signal ?? new AbortController().signal,
    graceMs: optional(options.grace, "the option grace"),
    concurrency,
    batchSize,
    lane,
    pauses: new Pauses(() => core.clock.monotonic()),
    passes: passes ?? Infinity,
    worker: workerName(options.workerId),
    onReady: options.onReady ?? (() => {}),
  };
}
