import { setImmediate } from "node:timers";
import type { Core } from "../core.ts";
import { type AfterCommit, runAfterCommit } from "../firing/after_commit.ts";
import type { TxScope } from "../firing/transaction.ts";
import { errorType, logger } from "../log.ts";
import type { Instant } from "../instant.ts";
import type { ClaimedDelivery } from "../storage/records.ts";
import { columnsOf } from "../storage/settlement.ts";
import { Acknowledger } from "./acknowledger.ts";
import { Attempt } from "./attempt.ts";
import { around } from "./around.ts";
import { caseOf } from "./case.ts";
import { DurableContext } from "./context.ts";
import { count, type DeliveryCounts, wasRecorded } from "./counts.ts";
import { Deadlines } from "./deadlines.ts";
import { decode } from "./decode.ts";
import { handOver } from "./hand_over.ts";
import { tellOutcome } from "./hooks.ts";
import { Leases } from "./leases.ts";
import { LaneGate } from "./lane_gate.ts";
import { Patience } from "./patience.ts";
import type { Pauses } from "./pauses.ts";
import { run } from "./run.ts";
import { conclude, decide, settle } from "./settle.ts";

const log = logger(["delivery"]);
// Receivers that never wait for anything would otherwise keep timers, signals and renewals waiting for a whole batch.
const LONGEST_TURN_MS = 25;
const SUCCEEDED = { kind: "succeeded" } as const;

/** What a line is set up with. */
export interface LineOptions {
  /** Deliveries that run at a time. */
  readonly concurrency: number;
  /** A caller's transaction that everything happens in; then one at a time, each recorded before the next. */
  readonly within?: TxScope | undefined;
  /** The test's clock for settlements. */
  readonly now?: Instant | undefined;
  /** The lanes that deferrals set aside; without it they are recorded and pause nothing. */
  readonly pauses?: Pauses;
  /** Whether receivers of `site: "task"` run here, instead of being handed over: in a task, or by name. */
  readonly atTask?: boolean;
  /** How long a row may wait for a process that knows it. Default: the outbox's setting. */
  readonly graceMs?: number;
  /** Called when there may be something to claim that was not known: a row is owed again, a lane is open again. */
  readonly onMore?: () => void;
}

/**
 * The line that every claimed row travels: decode, run, verdict, settle, hooks. Rows start in the order in which they
 * were claimed, up to `concurrency` at a time; a row that lapsed before runs alone, so that a receiver which kills its
 * process takes nobody along.
 */
export class Line {
  readonly counts: DeliveryCounts = {};
  readonly leases: Leases;
  readonly #core: Core;
  readonly #concurrency: number;
  readonly #within: TxScope | undefined;
  readonly #serial: boolean;
  readonly #gate: LaneGate;
  readonly #atTask: boolean;
  readonly #graceMs: number | undefined;
  readonly #onMore: () => void;
  readonly #acknowledger: Acknowledger;
  readonly #deadlines = new Deadlines();
  readonly #running = new Set<Attempt>();
  readonly #waiting: (() => void)[] = [];
  readonly #unsettled = new Set<Attempt>();
  #alone = false;
  #turnBegan = -Infinity;

  constructor(core: Core, options: LineOptions) {
    this.#core = core;
    this.#within = options.within;
    this.#concurrency = options.within ? 1 : options.concurrency;
    // One at a time to the very end: in a caller's transaction each is recorded before the next, and hooks that set
    // something for the session (a role, a tenant) must not overlap where nothing else does. Elsewhere the next one
    // starts while the outcome is on its way.
    this.#serial = options.within !== undefined || (core.aroundDelivery !== undefined && this.#concurrency === 1);
    this.#atTask = options.atTask ?? false;
    this.#graceMs = options.graceMs;
    this.#onMore = options.onMore ?? (() => {});
    this.#gate = new LaneGate(core, options.pauses, this.#onMore);
    this.leases = new Leases(core);
    this.#acknowledger = new Acknowledger(
      (group) => core.storage.settle(group, options.now ?? core.clock.now(), options.within?.storageTx),
      (ms) => core.clock.sleep(ms),
    );
  }

  /**
   * Starts each row as soon as there is room for it. Resolves when the last one has started; once `stop` aborts, the
   * rest is handed back, claimable by others at once; so it is once it has waited for `patienceMs`.
   *
   * @param claimedAt the monotonic moment before the claim was sent
   * @returns how many found their turn; the rest was handed back
   */
  async start(
    rows: readonly ClaimedDelivery[],
    claimedAt: number,
    stop?: AbortSignal,
    patienceMs = Infinity,
  ): Promise<number> {
    const attempts = rows.map((row) => new Attempt(this.#core, row, this.#graceMs));
    // Inside a caller's transaction the rows are locked until it ends: no lease to renew.
    if (!this.#within) this.leases.add(attempts, claimedAt);
    // A stop must not wait for room: others may have the rest while a long receiver runs here.
    const changed = () => this.#changed();
    stop?.addEventListener("abort", changed);
    const patience = new Patience(patienceMs, changed);
    let turns = 0;
    for (const [index, attempt] of attempts.entries()) {
      const alone = attempt.delivery.lapses > 0;
      while (!stop?.aborted && !patience.isOver && (this.#full(alone) || this.#gate.isUndecided(attempt))) {
        patience.begin();
        await this.#room();
      }
      if (performance.now() - this.#turnBegan > LONGEST_TURN_MS) await this.#nextTurn();
      // A deferral of its lane may have come in meanwhile: the row keeps its place, and costs no call.
      const hasTurn = !stop?.aborted && !patience.isOver;
      if (hasTurn) turns++;
      if (!hasTurn || this.#gate.isPaused(attempt)) this.#handBack(attempt);
      else if (!alone) this.#launch(attempt, false);
      else {
        await this.#runAlone(attempt, attempts.slice(index + 1), stop);
        break;
      }
    }
    stop?.removeEventListener("abort", changed);
    patience.close();
    return turns;
  }

  // It may kill this process, as it may have killed another: what is claimed here meanwhile would lapse with it, and
  // be taken for its like. So the rest of the batch is given back first, and nothing is claimed until it is over.
  async #runAlone(attempt: Attempt, rest: readonly Attempt[], stop: AbortSignal | undefined): Promise<void> {
    for (const mate of rest) this.#handBack(mate);
    await this.idle();
    this.#launch(attempt, true);
    while (!stop?.aborted && (this.#running.size > 0 || this.#unsettled.size > 0)) await this.#room();
  }

  /** Resolves when nothing runs and every outcome has been answered. */
  async idle(): Promise<void> {
    while (this.#running.size > 0 || this.#unsettled.size > 0) await this.#room();
  }

  /** How many more may start at once. */
  get free(): number {
    return this.#alone ? 0 : Math.max(0, this.#concurrency - this.#running.size);
  }

  /** Resolves when there is one more, or the signal aborts. */
  async hasFree(stop: AbortSignal): Promise<void> {
    const changed = () => this.#changed();
    stop.addEventListener("abort", changed);
    while (!stop.aborted && this.free === 0) await this.#room();
    stop.removeEventListener("abort", changed);
  }

  /** How many receivers are running. */
  get running(): number {
    return this.#running.size;
  }

  /** Ids of all rows that this line has claimed and not settled. */
  get held(): string[] {
    return [...new Set([...this.leases.held, ...[...this.#unsettled].map((attempt) => attempt.delivery.fence.id)])];
  }

  /** Ends what runs without recording an attempt: the rows are given back. */
  release(reason: unknown): void {
    for (const attempt of this.#running) attempt.interrupt({ kind: "released", reason });
  }

  /** Stops sending outcomes that the database does not answer. */
  giveUp(): void {
    this.#acknowledger.giveUp();
  }

  /** Stops the timers. */
  close(): void {
    this.leases.close();
    this.#deadlines.close();
  }

  #full(alone: boolean): boolean {
    return this.#alone || this.#running.size >= (alone ? 1 : this.#concurrency);
  }

  async #nextTurn(): Promise<void> {
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#turnBegan = performance.now();
  }

  #room(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #changed(): void {
    if (this.#waiting.length === 0) return;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #launch(attempt: Attempt, alone: boolean): void {
    this.#running.add(attempt);
    this.#unsettled.add(attempt);
    this.#alone = alone;
    this.#gate.enter(attempt);
    if (!this.#hurry(attempt)) this.#follow(attempt, this.#deliver(attempt));
  }

  // Nothing on the line may throw; if it does, the row comes back by its lease and the loop lives on.
  #follow(attempt: Attempt, rest: Promise<void>): void {
    void rest.catch((error) => {
      log.error("delivery {delivery} was given up: {error}", {
        delivery: attempt.delivery.fence.id,
        error: errorType(error),
      });
    }).finally(() => {
      this.#free(attempt);
      this.#unsettled.delete(attempt);
      this.#gate.forget(attempt);
      this.#changed();
    });
  }

  /**
   * The way of nearly every delivery: nothing to wait for but the receiver, nothing to decide but that it succeeded. No
   * promise is made for any step, because a hundred thousand of them a second are what the garbage collector lives on.
   * False when the attempt has to take the whole line.
   */
  #hurry(attempt: Attempt): boolean {
    const now = performance.now();
    const core = this.#core;
    if (this.#serial || core.aroundDelivery || !this.leases.isLive(attempt, now)) return false;
    if (attempt.receiver === undefined || attempt.receiver.policy.site === "task") return false;
    if (attempt.interruption || this.#decode(attempt) !== "done" || attempt.outcome) return false;
    attempt.context = new DurableContext(core, attempt, undefined);
    this.#deadlines.add(attempt, now);
    const running = run(attempt);
    if (running) void running.then(() => this.#ran(attempt));
    else this.#ran(attempt);
    return true;
  }

  // Once: a schema's validator that is asynchronous would otherwise be asked twice, and answer the later for both.
  #decode(attempt: Attempt): Promise<void> | "done" {
    return attempt.decoding ??= decode(this.#core, attempt) ?? "done";
  }

  #ran(attempt: Attempt): void {
    if (attempt.outcome?.kind !== "succeeded" || attempt.context!.used) {
      return this.#follow(attempt, this.#conclude(attempt));
    }
    this.#deadlines.delete(attempt);
    this.leases.delete(attempt);
    attempt.context!.end();
    attempt.settlement = SUCCEEDED;
    this.#free(attempt);
    this.#acknowledger.send({ fence: attempt.delivery.fence, settlement: SUCCEEDED }, (answer) => {
      attempt.answer = answer;
      if (attempt.probe || !wasRecorded(attempt)) return this.#follow(attempt, this.#tell(attempt));
      count(this.counts, attempt);
      this.#unsettled.delete(attempt);
      this.#changed();
    });
  }

  async #deliver(attempt: Attempt): Promise<void> {
    const core = this.#core;
    if (!this.leases.isLive(attempt, performance.now())) await this.leases.ensureLive(attempt);
    const decoding = this.#decode(attempt);
    if (decoding !== "done") await decoding;
    // A row that does not reach its receiver, or was lost before: no hook is entered for it.
    if (attempt.outcome || attempt.interruption) return await this.#attempt(attempt);
    if (attempt.receiver!.policy.site === "task" && !this.#atTask) {
      await handOver(core, attempt, this.#within !== undefined);
      return await this.#attempt(attempt);
    }
    attempt.context = new DurableContext(core, attempt, this.#within?.storageTx);
    this.#deadlines.add(attempt, performance.now());
    if (core.aroundDelivery) await around(core.aroundDelivery, attempt, () => this.#attempt(attempt));
    else await this.#attempt(attempt);
  }

  async #attempt(attempt: Attempt): Promise<void> {
    const running = run(attempt);
    if (running) await running;
    await this.#conclude(attempt);
  }

  async #conclude(attempt: Attempt): Promise<void> {
    const core = this.#core;
    this.#gate.leave(attempt);
    this.#deadlines.delete(attempt);
    // From here on the receiver is done: what cannot be recorded within the lease is somebody else's to run.
    this.leases.delete(attempt);
    if (attempt.context?.used) {
      await conclude(core, attempt);
    } else {
      attempt.context?.end();
      decide(core, attempt);
    }
    if (!this.#serial) this.#free(attempt);
    await settle(this.#acknowledger, attempt);
    await this.#tell(attempt);
  }

  async #tell(attempt: Attempt): Promise<void> {
    const about = caseOf(this.#core, attempt);
    if (this.#gate.judge(attempt, about)) this.#changed();
    // A row that is still owed may be due sooner than anything that was known.
    if (attempt.settlement && !columnsOf(attempt.settlement).completes) this.#onMore();
    count(this.counts, attempt);
    await tellOutcome(attempt, about);
    if (attempt.settlement?.kind === "succeeded" && wasRecorded(attempt)) await this.#afterCommit(attempt.firedInside);
  }

  // What was fired inside a caller's transaction is that transaction's to follow up.
  async #afterCommit(asked: readonly AfterCommit[]): Promise<void> {
    if (this.#within) this.#within.afterCommit.push(...asked);
    else await runAfterCommit(this.#core, asked);
  }

  #free(attempt: Attempt): void {
    if (!this.#running.delete(attempt)) return;
    this.#alone = false;
    this.leases.delete(attempt);
    this.#deadlines.delete(attempt);
    this.#changed();
  }

  #handBack(attempt: Attempt): void {
    this.leases.delete(attempt);
    this.#unsettled.add(attempt);
    const settlement = { fence: attempt.delivery.fence, settlement: { kind: "released" } as const };
    void this.#acknowledger.settle(settlement).finally(() => {
      this.#unsettled.delete(attempt);
      this.#changed();
    });
  }
}
