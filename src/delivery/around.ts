import type { AroundDelivery } from "../declaration/around.ts";
import { errorType, logger } from "../log.ts";
import type { Attempt, Interruption } from "./attempt.ts";
import { inTime } from "./in_time.ts";
import { outcomeOf } from "./run.ts";

const log = logger(["delivery"]);

/**
 * Runs the rest of an attempt inside the user's hook. The outcome is recorded inside `next`, so nothing that the hook
 * does afterwards can change it; what it does before decides whether the receiver runs at all.
 *
 * @param rest runs the receiver unless the attempt has an outcome, and records
 */
export async function around(hook: AroundDelivery, attempt: Attempt, rest: () => Promise<void>): Promise<void> {
  const context = attempt.context!;
  let recorded: Promise<void> | undefined;
  const proceed = () => {
    attempt.onInterrupt = undefined;
    return recorded = rest();
  };

  const entered = Promise.withResolvers<"entered">();
  let called = false;
  const enter = async () => {
    if (recorded) throw called ? calledTwice(attempt) : tooLate(attempt);
    called = true;
    entered.resolve("entered");
    await proceed();
    const error = errorOf(attempt);
    if (error) throw error.thrown;
  };
  const next = () => {
    const settled = enter();
    // The hook need not await it: then its rejection is nobody's.
    settled.catch(() => {});
    return settled;
  };

  // A hook that hangs before next() is ended like a receiver that hangs, and is told by ctx.signal.
  const interrupted = new Promise<Interruption>((resolve) => {
    attempt.onInterrupt = (interruption) => {
      resolve(interruption);
      context.abort(interruption.reason);
    };
  });
  const ended = (async () => await hook(context, next))().then(() => undefined, (thrown: unknown) => ({ thrown }));
  const first = await Promise.race([entered.promise, ended, interrupted]);
  if (!recorded) {
    attempt.outcome = typeof first === "object" && "kind" in first
      ? outcomeOf(first)
      : { kind: "failed", error: typeof first === "object" ? first.thrown : neverCalled() };
    proceed();
  }
  await recorded;

  const told = ended.then((error) => error && complain(attempt, error.thrown));
  // One that was given up before may hang for ever, and has nothing to do any more.
  if (!called || await inTime(told, attempt.timeoutMs)) return;
  log.error("aroundDelivery still runs {timeout} ms after delivery {delivery} was recorded; it is left behind", {
    delivery: attempt.delivery.fence.id,
    timeout: attempt.timeoutMs,
  });
}

/** What next() rejects with: the receiver's own error, or why nothing could be recorded. */
function errorOf({ outcome, interruption }: Attempt): { readonly thrown: unknown } | undefined {
  switch (outcome?.kind) {
    case "failed":
    case "unrecorded":
      return { thrown: outcome.error };
    case "lost":
    case "released":
      return interruption && { thrown: interruption.reason };
  }
}

function complain(attempt: Attempt, thrown: unknown): void {
  const known = errorOf(attempt);
  if (known && known.thrown === thrown) return;
  log.error("aroundDelivery failed after delivery {delivery} was recorded with {error}; its outcome stands", {
    delivery: attempt.delivery.fence.id,
    error: errorType(thrown),
  });
}

function calledTwice({ delivery }: Attempt): TypeError {
  return new TypeError(`Cannot run delivery ${delivery.fence.id} again: aroundDelivery calls next() once`);
}

function tooLate({ delivery, interruption }: Attempt): unknown {
  return interruption?.reason ?? new Error(`Cannot run delivery ${delivery.fence.id}: its attempt has ended`);
}

function neverCalled(): Error {
  return new Error("aroundDelivery returned without calling next()");
}
