import { setImmediate } from "node:timers";

interface Timer {
  at: number;
  run: () => void;
}

// Its own where it lies on the object (Bun), else the prototype's (Deno).
const ownNow = Object.getOwnPropertyDescriptor(performance, "now");
const real = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout, now: Date.now };

/** Time that stands still until it is told to pass: `setTimeout`, `performance.now` and `Date.now` of this process. */
export class FakeTime implements Disposable {
  readonly #timers = new Map<number, Timer>();
  readonly #epoch: number;
  #now = 0;
  #lastId = 0;

  constructor(epoch = 1_700_000_000_000) {
    this.#epoch = epoch;
    const setTimeout = (run: () => void, ms = 0): number => {
      this.#timers.set(++this.#lastId, { at: this.#now + ms, run });
      return this.#lastId;
    };
    const clearTimeout = (id: number | undefined) => void this.#timers.delete(id!);
    Object.assign(globalThis, { setTimeout, clearTimeout });
    Date.now = () => this.#epoch + Math.floor(this.#now);
    Object.defineProperty(performance, "now", { value: () => this.#now, configurable: true });
  }

  /** Milliseconds since it was made. */
  get now(): number {
    return this.#now;
  }

  /** How many timers are armed. */
  get timers(): number {
    return this.#timers.size;
  }

  /** Lets time pass, and everything that falls due in it happen, in order. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await turn();
    while (true) {
      const [due] = [...this.#timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at);
      if (due === undefined) break;
      const [id, timer] = due;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, timer.at);
      timer.run();
      await turn();
    }
    this.#now = end;
  }

  /** Lets the clock jump while the event loop is blocked: what falls due happens late, at the next `pass`. */
  block(ms: number): void {
    this.#now += ms;
  }

  [Symbol.dispose](): void {
    Object.assign(globalThis, { setTimeout: real.setTimeout, clearTimeout: real.clearTimeout });
    Date.now = real.now;
    if (ownNow) Object.defineProperty(performance, "now", ownNow);
    else Reflect.deleteProperty(performance, "now");
  }
}

/** Lets everything happen that waits for no timer. */
export function turn(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve));
}
