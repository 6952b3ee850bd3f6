import type { Core } from "../core.ts";
import type { TaskBackend } from "../declaration/task.ts";
import { errorType, logger } from "../log.ts";
import type { Attempt } from "./attempt.ts";

const log = logger(["delivery"]);

/**
 * Hands a claimed row over to the task backend and moves on: no receiver runs here, and nothing counts. The lease is
 * renewed first, so that the row is not taken back while the message waits; a message that is lost is made good by the
 * lease's end. Only a row that is still held goes out.
 *
 * @param uncommitted whether the claim is part of a caller's transaction: no worker could see it, and a test that rolls
 * back must leave nothing on a queue, so the row waits for a relay
 */
export async function handOver(core: Core, attempt: Attempt, uncommitted: boolean): Promise<void> {
  const { fence, receiverKey } = attempt.delivery;
  if (uncommitted) {
    attempt.outcome = { kind: "notHandedOver" };
    return;
  }
  try {
    const renewed = await core.storage.renew([{ fence, leaseMs: attempt.leaseMs, parked: true }], core.clock.now());
    if (!renewed.has(fence.id)) {
      attempt.outcome = { kind: "lost" };
      return;
    }
    // Given up meanwhile: its row goes back, so nothing may go out.
    if (attempt.interruption) throw attempt.interruption.reason;
    await enqueue(core.tasks!, attempt);
    attempt.outcome = { kind: "handedOver" };
  } catch (error) {
    log.warn("could not hand delivery {delivery} of receiver {receiver} to the task backend ({error}); trying again", {
      delivery: fence.id,
      receiver: receiverKey,
      error: errorType(error),
    });
    attempt.outcome = { kind: "notHandedOver" };
  }
}

// A backend may take no notice of its signal, and one that answers only when the task is done (an HTTP request) is not
// waited for: once a worker has taken the row, the claim is lost here, which is what was wanted.
function enqueue(tasks: TaskBackend, attempt: Attempt): Promise<void> {
  const { id, claimedBy, claimedAt } = attempt.delivery.fence;
  const ending = new AbortController();
  const { signal } = ending;
  return new Promise<void>((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason));
    attempt.onInterrupt = ({ kind, reason }) => kind === "lost" ? resolve() : ending.abort(reason);
    const late = () => ending.abort(new Error("The task backend did not answer within the lease"));
    const timer = setTimeout(late, attempt.leaseMs);
    const message = { v: 1, deliveryId: id, claimedBy, claimedAt: claimedAt.toString() } as const;
    const enqueued = (async () => await tasks.enqueue(message, { signal }))();
    enqueued.then(resolve, reject).finally(() => clearTimeout(timer));
  }).finally(() => {
    attempt.onInterrupt = undefined;
  });
}
