import type { DeliveryFailure } from "../declaration/receiver_options.ts";
import { dateOf } from "../instant.ts";
import { logger } from "../log.ts";
import { columnsOf } from "../storage/settlement.ts";
import type { Attempt } from "./attempt.ts";
import { errorClass } from "./error_text.ts";
import { inTime } from "./in_time.ts";
import { isThrown, RetryAfter } from "./thrown.ts";
import type { VerdictCase } from "./verdict.ts";

const log = logger(["delivery"]);

/**
 * What is said of an attempt once the database has answered: one line for each failure that the row shows, and nothing
 * for what it does not show. Then the receiver's own `onFailure` is told.
 */
export async function tellOutcome(attempt: Attempt, about: VerdictCase): Promise<void> {
  const { answer, outcome, delivery } = attempt;
  const names = { receiver: delivery.receiverKey, delivery: delivery.fence.id, attempt: attempt.number };
  if (outcome?.kind === "unrecorded") {
    log.warn("receiver {receiver} lost the connection of delivery {delivery} ({error}); its lease will lapse", {
      ...names,
      error: errorClass(outcome.error),
    });
    return;
  }
  if (outcome?.kind === "lost" || answer === "lost") {
    log.warn(
      "receiver {receiver} no longer holds delivery {delivery}, so its outcome was not recorded; declare a longer lease",
      names,
    );
    return;
  }
  if (outcome?.kind === "notOpened") {
    log.warn(
      "receiver {receiver} could not open its transaction for delivery {delivery}: the database did not answer; " +
        "the attempt does not count",
      names,
    );
  }
  if (answer !== "applied" && answer !== "already") return;
  const { status, error: stored } = columnsOf(attempt.settlement!);
  if (attempt.settlement?.kind === "notYetUntil") {
    log.debug("receiver {receiver} put delivery {delivery} off until {until}", {
      ...names,
      until: dateOf(attempt.settlement.until).toISOString(),
    });
  }
  if (status !== "failed" && status !== "dead") return;
  warnOfWait(attempt, about);
  const error = outcome?.kind === "failed" || outcome?.kind === "undecodable"
    ? errorClass(outcome.error)
    : outcome?.kind;
  log.warn("receiver {receiver} failed delivery {delivery} on attempt {attempt} with {error}; the row is {status}", {
    ...names,
    error,
    status,
  });
  await tellReceiver(attempt, status, stored!);
}

// Once per receiver and process: its deferrals count until somebody declares what ends them.
const unbounded = new Set<string>();

function warnOfWait({ outcome, delivery }: Attempt, { giveUpAfterMs, maxRetryAfterMs }: VerdictCase): void {
  if (outcome?.kind !== "failed" || !isThrown(outcome.error, RetryAfter)) return;
  const { waitMs, counts } = outcome.error;
  const { receiverKey } = delivery;
  if (waitMs > maxRetryAfterMs) {
    log.warn("receiver {receiver} asked to retry delivery {delivery} after {asked} s; cut to maxRetryAfter, {most} s", {
      receiver: receiverKey,
      delivery: delivery.fence.id,
      asked: waitMs / 1000,
      most: maxRetryAfterMs / 1000,
    });
  }
  if (!counts && giveUpAfterMs === undefined && !unbounded.has(receiverKey)) {
    unbounded.add(receiverKey);
    log.warn(
      "receiver {receiver} defers without counting and declares no giveUpAfter, so nothing would end it: it counts",
      { receiver: receiverKey },
    );
  }
}

// Not told of a row that could not be read: the receiver has nothing to do with that.
async function tellReceiver(
  { outcome, receiver, delivery, number, timeoutMs }: Attempt,
  status: "failed" | "dead",
  stored: string,
): Promise<void> {
  const onFailure = receiver?.policy.onFailure;
  if (onFailure === undefined || (outcome?.kind !== "failed" && outcome?.kind !== "lapsedTooOften")) return;
  const { event, fence, receiverKey, target } = delivery;
  const failure: DeliveryFailure = {
    deliveryId: fence.id,
    eventId: event.id,
    eventName: event.name,
    receiverKey,
    target,
    attempt: number,
    status,
    // As it is stored, which for a give-up is more than the receiver's own.
    error: stored,
  };
  const telling = (async () => void await onFailure(failure))().catch((error) => {
    log.error("onFailure of receiver {receiver} failed with {error}; the row is as it is", {
      receiver: receiverKey,
      error: errorClass(error),
    });
  });
  if (await inTime(telling, timeoutMs)) return;
  log.error("onFailure of receiver {receiver} still runs after {timeout} ms; it is left behind", {
    receiver: receiverKey,
    timeout: timeoutMs,
  });
}
