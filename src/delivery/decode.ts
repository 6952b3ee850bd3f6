import type { Core } from "../core.ts";
import { decodePayload } from "../declaration/codec.ts";
import { anyEvent } from "../declaration/event.ts";
import type { Attempt } from "./attempt.ts";
import { metForMs } from "./foreign.ts";

/**
 * Gives the attempt its payload, or the outcome of a row that does not reach its receiver. Returns a promise only when
 * the schema's validator is asynchronous.
 */
export function decode(core: Core, attempt: Attempt): void | Promise<void> {
  const { delivery, receiver } = attempt;
  if (receiver === undefined || receiver.policy.mode !== "durable") {
    attempt.outcome = { kind: "unknownReceiver" };
    return;
  }
  if (delivery.lapses > core.settings.maxLapses) {
    attempt.outcome = { kind: "lapsedTooOften" };
    return;
  }
  const definition = core.registry.events.get(delivery.event.name);
  if (definition === undefined || (receiver.event !== anyEvent && receiver.event !== definition)) {
    return foreign(core, attempt, "undeclaredEvent");
  }
  if (delivery.event.version > definition.version) return foreign(core, attempt, "newerVersion");
  try {
    const payload = decodePayload(definition, delivery.event.payload, delivery.event.version);
    if (!(payload instanceof Promise)) {
      attempt.payload = payload;
      return;
    }
    return payload.then(
      (value) => void (attempt.payload = value),
      (error) => void (attempt.outcome = { kind: "undecodable", error }),
    );
  } catch (error) {
    attempt.outcome = { kind: "undecodable", error };
  }
}

// Another release's to run: the receiver is not asked, so no attempt is recorded.
function foreign(core: Core, attempt: Attempt, kind: "undeclaredEvent" | "newerVersion"): void {
  attempt.outcome = { kind, metForMs: metForMs(core, attempt.delivery) };
}
