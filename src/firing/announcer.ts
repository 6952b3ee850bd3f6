import type { Clock } from "../clock.ts";
import { errorType, logger } from "../log.ts";
import type { Announcement, Storage } from "../storage/storage.ts";

const log = logger(["firing"]);

/**
 * Records which receivers this process lists, so that no relay which does not know one of them orphans its rows, and
 * an operator can see who lists what.
 */
export class Announcer {
  readonly #storage: Storage;
  readonly #announcement: Announcement;
  readonly #graceMs: number;
  readonly #clock: Clock;
  #askedAt = -Infinity;
  #since: number | undefined;
  #lastAt = -Infinity;

  constructor(storage: Storage, announcement: Announcement, graceMs: number, clock: Clock) {
    this.#storage = storage;
    this.#announcement = announcement;
    this.#graceMs = graceMs;
    this.#clock = clock;
  }

  /** Announces now. */
  async announce(): Promise<void> {
    this.#askedAt = this.#clock.monotonic();
    try {
      await this.#storage.announce({ ...this.#announcement, now: this.#clock.now() });
    } catch (error) {
      this.#since = undefined;
      throw error;
    }
    const now = this.#clock.monotonic();
    // After a longer silence nothing is known of what others could do meanwhile.
    if (now - this.#lastAt > this.#graceMs / 2) this.#since = undefined;
    this.#since ??= now;
    this.#lastAt = now;
  }

  /**
   * For how long this process has been announcing without a break. What others have not announced meanwhile is known to
   * be their doing, and not an outage's.
   */
  get announcingForMs(): number {
    return this.#since === undefined ? 0 : this.#lastAt - this.#since;
  }

  /** Announces in the background when the last time is long ago; a failure costs nothing but a line in the log. */
  announceSometimes(background: Set<Promise<void>>): void {
    // Older than the grace it would protect nobody.
    if (this.#clock.monotonic() - this.#askedAt < this.#graceMs / 3) return;
    const running = this.announce().catch((error) => {
      log.debug("could not announce the receivers ({error})", { error: errorType(error) });
    });
    background.add(running);
    void running.finally(() => background.delete(running));
  }
}
