import { WorkFailed } from "../../errors.ts";
import type { GuardState } from "../guard.ts";
import type { Answer, Fence, FencedSettlement, Settlement } from "../settlement.ts";
import type { Acknowledgement, AcknowledgementLimits } from "../storage.ts";
import type { Begun, Client, Joined, Row } from "./clients/client.ts";
import { type Held, hold } from "./clients/hold.ts";
import { type Connections, NoAnswer } from "./connections.ts";
import { codeOf, isAborted, isConnectionLoss } from "./faults.ts";
import { Scopes } from "./scopes.ts";
import { fenceParameters, settle, settleTogether } from "./settling.ts";
import type { Statements } from "./statements.ts";
import { settlesWithin } from "./timers.ts";
import { PostgresTransaction } from "./transaction.ts";

/** How long abandoning waits for a connection that may hang, before it is cut, and again for the cut. */
const PATIENCE_MS = 500;

/** What an acknowledgement needs of the storage. */
export interface Ground<Tx> {
  readonly connections: Connections<Tx>;
  readonly statements: Statements;
}

/**
 * Opens the transaction of a receiver, or a savepoint of one that is open. The row is locked in the outer scope; the
 * receiver works in the inner one, so that undoing its work leaves the lock, and no thief comes in between.
 */
export async function acknowledge<Tx>(
  ground: Ground<Tx>,
  fence: Fence,
  limits: AcknowledgementLimits,
  within: Joined<Tx> | null,
): Promise<Acknowledgement<Tx> | null> {
  const { connections } = ground;
  const pool = within === null ? connections.work : null;
  const opening = open(ground, fence, limits, within, pool);
  opening.catch(() => {});
  if (await settlesWithin(opening, connections.deadlineMs)) return await opening;
  if (pool !== null) connections.lost(pool);
  opening.then((late) => late?.abandon()).catch(() => {});
  throw new NoAnswer();
}

async function open<Tx>(
  ground: Ground<Tx>,
  fence: Fence,
  limits: AcknowledgementLimits,
  within: Joined<Tx> | null,
  pool: Client<Tx> | null,
): Promise<Acknowledgement<Tx> | null> {
  const { connections, statements } = ground;
  const { prepare } = connections;
  const outer: Held<Joined<Tx> | Begun<Tx>> = await hold((body) =>
    within === null ? connections.transaction(body) : within.savepoint(body)
  );
  const on = outer.handle;
  const parameters = fenceParameters(fence);
  const timeout = Math.max(1, Math.ceil(limits.timeoutMs)).toString();
  // Both travel together.
  const [lock, inner] = await Promise.allSettled([
    within === null
      ? on.run(statements.openAcknowledgement, [...parameters, timeout], prepare)
      : on.run(statements.lockFence, parameters, prepare),
    hold<Joined<Tx>>((body) => on.savepoint(body)),
  ]);
  if (lock.status === "fulfilled" && inner.status === "fulfilled") {
    const [row] = lock.value;
    if (row !== undefined) {
      return new OpenAcknowledgement(ground, fence, outer, inner.value, pool, within === null ? row : null);
    }
    await inner.value.leave(false);
    await outer.leave(false);
    return null;
  }
  if (inner.status === "fulfilled") await inner.value.leave(false).catch(() => {});
  await outer.leave(false).catch(() => {});
  throw lock.status === "rejected" ? lock.reason : (inner as PromiseRejectedResult).reason;
}

class OpenAcknowledgement<Tx> implements Acknowledgement<Tx> {
  readonly tx: PostgresTransaction<Tx>;
  readonly #ground: Ground<Tx>;
  readonly #fence: Fence;
  readonly #outer: Held<Joined<Tx> | Begun<Tx>>;
  readonly #inner: Held<Joined<Tx>>;
  /** The backend and its transaction's start, by which it can be ended from outside. */
  readonly #session: Row | null;
  /** The pool that the connection is of; null for somebody else's transaction. */
  readonly #pool: Client<Tx> | null;
  readonly #state: GuardState;
  readonly #scopes = new Scopes();
  /** Rejects when the connection is given up. */
  readonly #givenUp = Promise.withResolvers<never>();
  #firstFailure: { readonly error: unknown } | null = null;
  #innerLeft = false;
  #outerLeft = false;
  /** Rolled back while it may have been finished: what is sent from then on would be in no transaction, or another. */
  #abandoned = false;

  constructor(
    ground: Ground<Tx>,
    fence: Fence,
    outer: Held<Joined<Tx> | Begun<Tx>>,
    inner: Held<Joined<Tx>>,
    pool: Client<Tx> | null,
    session: Row | null,
  ) {
    this.#pool = pool;
    this.#givenUp.promise.catch(() => {});
    this.#ground = ground;
    this.#fence = fence;
    this.#outer = outer;
    this.#inner = inner;
    this.#session = session;
    const state: GuardState = {
      refusal: null,
      failed: (error) => {
        this.#firstFailure ??= { error };
      },
      scopes: this.#scopes,
    };
    this.#state = state;
    this.tx = new PostgresTransaction(inner.handle, ground.statements, state);
    outer.ended.then(() => {
      state.refusal ??= `Cannot use the transaction of delivery ${fence.id}: its connection was lost`;
      this.#scopes.cut();
    });
  }

  async finish(settlement: Settlement): Promise<Answer> {
    this.#refuse();
    if (this.#scopes.areOpen) {
      try {
        await this.#scopes.end();
      } catch (error) {
        // Work that the receiver has not waited for is not in the transaction, or not all of it.
        if (settlement.kind === "succeeded" && !this.#abandoned) throw new WorkFailed(error);
      }
      if (this.#abandoned) return "lost";
    }
    const finished = settlement.kind === "succeeded" ? this.#succeed() : this.#record(settlement);
    finished.catch(() => {});
    const answered = Promise.race([finished, this.#givenUp.promise]);
    if (!await settlesWithin(answered, this.#ground.connections.deadlineMs)) await this.#end();
    return await answered;
  }

  async abandon(): Promise<void> {
    this.#refuse();
    this.#scopes.cut();
    await this.#end();
  }

  /** Ends the transaction, or the connection where that cannot be done, or waits for neither any more. */
  async #end(): Promise<void> {
    // When it is being left already, that may hang too.
    const over = this.#outerLeft ? this.#outer.ended : this.#leaveAll();
    if (await settlesWithin(over, PATIENCE_MS)) return;
    // The server goes on with a statement whose client has hung up, and keeps the row locked; so it is told first.
    // Cancelled, the statement leaves the connection whole; of one that was ended, postgres.js hands the error to
    // whoever uses it next.
    const { connections, statements } = this.#ground;
    for (const end of this.#session === null ? [] : [statements.cancel, statements.terminate]) {
      const [pid, since] = this.#session!;
      const asked = connections.hot("end a hung session", end, [Number(pid), String(since)]);
      await settlesWithin(asked.catch(() => {}), PATIENCE_MS);
      if (await settlesWithin(over, PATIENCE_MS)) return;
    }
    (this.#outer.handle as Partial<Begun<Tx>>).cut?.();
    await settlesWithin(over, PATIENCE_MS);
    // Nobody has heard from the server, which may have gone without a word, and taken other connections along.
    this.#givenUp.reject(new NoAnswer());
    if (this.#pool !== null) this.#ground.connections.lost(this.#pool);
  }

  /** Commits the work and its acknowledgement: the acknowledgement travels with the commit. */
  async #succeed(): Promise<Answer> {
    await this.#keepWork();
    if (this.#abandoned) return "lost";
    const { connections: { prepare }, statements } = this.#ground;
    this.#outerLeft = true;
    const [recorded, committed] = await Promise.allSettled([
      this.#outer.handle.run(statements.succeedWithin, fenceParameters(this.#fence), prepare),
      this.#outer.leave(true),
    ]);
    if (recorded.status === "rejected") {
      // The row is not there under this claim any more: the receiver itself must have changed it.
      if (codeOf(recorded.reason) === "22012") return "lost";
      throw this.#unkept(recorded.reason);
    }
    if (committed.status === "rejected") throw this.#unkept(committed.reason);
    return "applied";
  }

  async #keepWork(): Promise<void> {
    if (this.#innerLeft) throw new TypeError("Cannot finish the delivery as succeeded: its work was undone");
    this.#innerLeft = true;
    try {
      await this.#inner.leave(true);
    } catch (error) {
      throw this.#unkept(error);
    }
  }

  /** Undoes the work and records what became of it, under the same lock while there is one. */
  async #record(settlement: Settlement): Promise<Answer> {
    const { connections, statements } = this.#ground;
    const { prepare } = connections;
    const fenced: FencedSettlement = { fence: this.#fence, settlement };
    if (this.#outerLeft) {
      const [answer] = await settle((s, p) => connections.hot("settle", s, p), statements, [fenced], undefined);
      return answer!;
    }
    if (!this.#innerLeft) {
      this.#innerLeft = true;
      await this.#inner.leave(false);
      if (this.#abandoned) return "lost";
    }
    const on = this.#outer.handle;
    const [answer] = await settleTogether(
      (statement, parameters) => on.run(statement, parameters, prepare),
      statements.settleWithin,
      statements.classify,
      [fenced],
      undefined,
    );
    if (this.#abandoned) return "lost";
    this.#outerLeft = true;
    await this.#outer.leave(true);
    return answer!;
  }

  async #leaveAll(): Promise<void> {
    this.#outerLeft = true;
    this.#abandoned = true;
    if (!this.#innerLeft) {
      this.#innerLeft = true;
      try {
        await this.#inner.leave(false);
      } catch (error) {
        return await this.#outer.leave(false, error);
      }
    }
    await this.#outer.leave(false);
  }

  /** What a failure to keep the work means: a lost connection speaks for itself. */
  #unkept(error: unknown): unknown {
    if (isConnectionLoss(error)) return error;
    return new WorkFailed(isAborted(error) && this.#firstFailure !== null ? this.#firstFailure.error : error);
  }

  #refuse(): void {
    this.#state.refusal ??= `Cannot use the transaction of delivery ${this.#fence.id}: its receiver has returned`;
  }
}
