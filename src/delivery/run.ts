import { surrounded } from "../firing/ambient.ts";
import type { Attempt, Interruption } from "./attempt.ts";
import type { Outcome } from "./outcome.ts";

/**
 * Runs the receiver: the only try/catch around user code on the line. The attempt has an outcome afterwards. A
 * receiver that is interrupted goes on in the background; its context and its transaction refuse it from then on.
 */
export function run(attempt: Attempt): void | Promise<void> {
  if (attempt.outcome) return;
  if (attempt.interruption) return void (attempt.outcome = outcomeOf(attempt.interruption));
  const context = attempt.context!;
  let running: Promise<unknown>;
  try {
    const result: unknown = surrounded(
      context.ambient,
      () => attempt.receiver!.handler(attempt.payload as never, context),
    );
    if (typeof (result as PromiseLike<unknown> | null | undefined)?.then !== "function") {
      return void (attempt.outcome = { kind: "succeeded" });
    }
    // A promise stays itself; a thenable of anybody's making may throw where a promise would reject.
    running = Promise.resolve(result);
  } catch (error) {
    return void (attempt.outcome = outcomeOfError(attempt, error));
  }
  return new Promise((resolve) => {
    const end = (outcome: Outcome) => {
      attempt.outcome ??= outcome;
      attempt.onInterrupt = undefined;
      resolve();
    };
    attempt.onInterrupt = (interruption) => {
      end(outcomeOf(interruption));
      context.abort(interruption.reason);
    };
    // Both handlers, so that a rejection after an interruption is no unhandled one.
    running.then(
      () => end({ kind: "succeeded" }),
      (error) => end(outcomeOfError(attempt, error)),
    );
  });
}

/** The outcome of an attempt that was ended from outside. */
export function outcomeOf(interruption: Interruption): Outcome {
  return interruption.kind === "timeout" ? { kind: "failed", error: interruption.reason } : { kind: interruption.kind };
}

// A receiver that throws because its claim was lost must not record a failure on somebody else's row.
function outcomeOfError(attempt: Attempt, error: unknown): Outcome {
  return attempt.interruption ? outcomeOf(attempt.interruption) : { kind: "failed", error };
}
