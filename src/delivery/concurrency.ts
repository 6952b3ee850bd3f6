import type { Core } from "../core.ts";
import { DEFAULT_CONCURRENCY } from "../declaration/settings.ts";
import { logger } from "../log.ts";

const log = logger(["delivery"]);

/** How many deliveries may run at a time here, with a warning when that is less than somebody asked for. */
export function clampedConcurrency(core: Core, asked: number): number {
  const { maxConcurrency, singleWriter } = core.storage.capabilities;
  if (asked <= maxConcurrency) return asked;
  // Nobody asked for the default; and a database in memory has one connection, which nobody can add to.
  if (asked !== DEFAULT_CONCURRENCY && (!singleWriter || maxConcurrency > 1)) {
    log.warn(
      "concurrency {concurrency} is more than {storage} can carry with its connections; running {max} at a time, give " +
        "the pool more connections for more",
      { concurrency: asked, storage: core.storage.name, max: maxConcurrency },
    );
  }
  return maxConcurrency;
}
