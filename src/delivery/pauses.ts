interface Pause {
  /** Monotonic moment at which it ends. */
  until: number;
  /** The delivery that is let through now that it has ended. */
  probe: Probe | undefined;
}

/** A delivery that is let through, alone, when its lane's pause has ended. */
export interface Probe {
  /** The lane that it is to find out about. */
  readonly lane: string;
  /** The end of the pause that it was let through after. */
  readonly until: number;
}

/**
 * The lanes that a deferral has set aside in this process. Nothing is shared between relays: each learns of a throttle
 * by one call of its own. A pause ends at the latest moment that any deferral asked for; then one delivery at a time is
 * let through, so that a quota which is still gone costs one call a pause.
 */
export class Pauses {
  readonly #now: () => number;
  readonly #pauses = new Map<string, Pause>();

  /** @param now milliseconds of a monotonic clock; one that stands still never ends a pause */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Sets a lane aside for that long. */
  hold(lane: string, ms: number): void {
    const until = this.#now() + ms;
    const pause = this.#pauses.get(lane);
    if (pause === undefined) this.#pauses.set(lane, { until, probe: undefined });
    else pause.until = Math.max(pause.until, until);
  }

  /** Whether nothing of the lane may start. */
  closed(lane: string): boolean {
    const pause = this.#pauses.get(lane);
    return pause !== undefined && (pause.until > this.#now() || pause.probe !== undefined);
  }

  /** How many rows of the lane a claim may take: none, one, or any number. */
  room(lane: string): 0 | 1 | typeof Infinity {
    if (this.closed(lane)) return 0;
    return this.#pauses.has(lane) ? 1 : Infinity;
  }

  /** Notes that a delivery of a lane that is not closed starts. Returns what it is to find out, if anything. */
  start(lane: string): Probe | undefined {
    const pause = this.#pauses.get(lane);
    if (pause === undefined) return undefined;
    return pause.probe = { lane, until: pause.until };
  }

  /** Notes that a probe is over; the lane is open again if it met no deferral, else the next one may start. */
  over(probe: Probe, isOpen: boolean): void {
    const pause = this.#pauses.get(probe.lane);
    if (pause?.probe !== probe) return;
    pause.probe = undefined;
    // What was running when the pause began may have asked for a later end meanwhile, and that holds.
    if (isOpen && pause.until === probe.until) this.#pauses.delete(probe.lane);
  }

  /** Milliseconds until the next pause ends, or null. */
  get nextEndMs(): number | null {
    const now = this.#now();
    const ends = [...this.#pauses.values()].map(({ until }) => until - now).filter((ms) => ms > 0);
    return ends.length === 0 ? null : Math.min(...ends);
  }
}
