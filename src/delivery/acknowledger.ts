import { setImmediate } from "node:timers";
import { errorType, logger } from "../log.ts";
import type { Answer, FencedSettlement } from "../storage/settlement.ts";

const log = logger(["delivery"]);
const MAX_GROUP = 1000;
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 5000;
// A row that stays locked this often is one whose receiver's connection hangs; the server's own timeout ends it.
const BUSY_WAIT_MS = 100;

interface Waiting {
  readonly settlement: FencedSettlement;
  readonly answer: (answer: Answer) => void;
}

/**
 * Groups acknowledgements: the first goes out at the end of the event loop's turn, so that everything which finished
 * in that turn goes with it; what arrives while a group is on its way makes the next one. A group whose answer was
 * lost is sent again: the fence makes that harmless, and `already` tells our own earlier record from a thief's.
 */
export class Acknowledger {
  readonly #send: (group: readonly FencedSettlement[]) => Promise<Answer[]>;
  readonly #sleep: (ms: number) => Promise<void>;
  #waiting: Waiting[] = [];
  #flushing = false;
  #givenUp = false;

  constructor(
    send: (group: readonly FencedSettlement[]) => Promise<Answer[]>,
    sleep: (ms: number) => Promise<void>,
  ) {
    this.#send = send;
    this.#sleep = sleep;
  }

  /** Records one outcome. Resolves once the database has answered; `lost` when it was given up. */
  settle(settlement: FencedSettlement): Promise<Answer> {
    return new Promise((answer) => this.send(settlement, answer));
  }

  /** The same for whoever needs no promise. */
  send(settlement: FencedSettlement, answer: (answer: Answer) => void): void {
    this.#waiting.push({ settlement, answer });
    this.#schedule();
  }

  /** Stops sending again: called when a stopping relay may wait no longer. The leases lapse instead. */
  giveUp(): void {
    this.#givenUp = true;
  }

  #schedule(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MAX_GROUP);
      const answers = await this.#sendUntilAnswered(group.map((one) => one.settlement));
      const busy: Waiting[] = [];
      for (const [i, one] of group.entries()) {
        const answer = answers[i] ?? "lost";
        if (answer === "busy" && !this.#givenUp) busy.push(one);
        else one.answer(answer);
      }
      if (busy.length > 0) {
        void this.#sleep(BUSY_WAIT_MS).then(() => {
          this.#waiting.push(...busy);
          this.#schedule();
        });
      }
    }
    this.#flushing = false;
  }

  async #sendUntilAnswered(group: readonly FencedSettlement[]): Promise<(Answer | undefined)[]> {
    for (let wait = FIRST_WAIT_MS;; wait = Math.min(wait * 2, LONGEST_WAIT_MS)) {
      try {
        return await this.#send(group);
      } catch (error) {
        log.warn("could not record {count} outcomes ({error}); {next}", {
          count: group.length,
          error: errorType(error),
          next: this.#givenUp ? "their leases will lapse" : "they are sent again",
        });
        if (this.#givenUp) return [];
        await this.#sleep(wait);
      }
    }
  }
}
