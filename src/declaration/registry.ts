import { anyEvent, type AnyEventDefinition, isEvent } from "./event.ts";
import { isReceiver, type Receiver } from "./receiver.ts";

/** Who listens to what, built once from the explicit lists. */
export interface Registry {
  /** Declared events by name. */
  readonly events: ReadonlyMap<string, AnyEventDefinition>;
  /** All receivers by key, in the order in which they were listed. */
  readonly receivers: ReadonlyMap<string, Receiver>;
  /** The receivers of an event in the order in which they were listed, those for every event included. */
  receiversOf(eventName: string): readonly Receiver[];
  /** Keys of the durable receivers. */
  readonly durableKeys: readonly string[];
  /**
   * Refuses keys that are no listed durable receiver's: what was asked of them would be done for nobody, and look well.
   *
   * @throws {RangeError} naming the key; `what` says what was asked
   */
  requireDurable(keys: readonly string[] | undefined, what: string): void;
  /** Gives a receiver another handler from now on, for a test. */
  replace(key: string, handler: Receiver["handler"]): void;
}

/**
 * Builds the registry.
 *
 * @throws {TypeError} for a value that is no receiver or no event, two receivers under one key, or two events under
 * one name; the message names both
 */
export function buildRegistry(listed: readonly Receiver[], more: readonly AnyEventDefinition[]): Registry {
  if (!Array.isArray(listed)) throw new TypeError("Cannot build the outbox: receivers must be an array");
  if (!Array.isArray(more)) throw new TypeError("Cannot build the outbox: events must be an array");
  const events = new Map<string, AnyEventDefinition>();
  const receivers = new Map<string, Receiver>();
  for (const event of more) {
    if (!isEvent(event)) throw new TypeError("Cannot build the outbox: events must hold what event() returned");
    addEvent(events, event);
  }
  for (const receiver of listed) {
    if (!isReceiver(receiver)) {
      throw new TypeError("Cannot build the outbox: receivers must hold what receiver() returned");
    }
    const other = receivers.get(receiver.key);
    if (other === receiver) {
      throw new TypeError(`Cannot build the outbox: receiver "${receiver.key}" is listed twice`);
    }
    if (other !== undefined) {
      throw new TypeError(
        `Cannot build the outbox: two receivers have the key "${receiver.key}", one for ${heard(other)} and one for ` +
          `${heard(receiver)}; a key is one receiver's identity, so give one of them another`,
      );
    }
    receivers.set(receiver.key, receiver);
    if (isEvent(receiver.event)) addEvent(events, receiver.event);
  }

  const listening = (name: string) =>
    [...receivers.values()].filter((r) => r.event === anyEvent || (isEvent(r.event) && r.event.name === name));
  // By name over the whole list, so that receivers for every event hear those declared later in it.
  const byEvent = new Map([...events.keys()].map((name) => [name, listening(name)]));
  const durableKeys = listed.filter((r) => r.policy.mode === "durable").map((r) => r.key);
  return {
    events,
    receivers,
    receiversOf: (name) => byEvent.get(name) ?? [],
    durableKeys,
    requireDurable: (keys = [], what) => {
      if (!Array.isArray(keys)) throw new TypeError(`Cannot ${what} receivers: expected a list of keys`);
      const unknown = keys.find((key) => !durableKeys.includes(key));
      if (unknown === undefined) return;
      throw new RangeError(`Cannot ${what} receiver "${unknown}": the outbox lists no durable receiver of that key`);
    },
    replace: (key, handler) => {
      receivers.set(key, Object.freeze({ ...receivers.get(key)!, handler }));
      for (const name of events.keys()) byEvent.set(name, listening(name));
    },
  };
}

function addEvent(events: Map<string, AnyEventDefinition>, event: AnyEventDefinition): void {
  const other = events.get(event.name);
  if (other !== undefined && other !== event) {
    throw new TypeError(
      `Cannot build the outbox: two declarations of event "${event.name}" are listed; declare it once and import it`,
    );
  }
  events.set(event.name, event);
}

function heard(receiver: Receiver): string {
  return isEvent(receiver.event) ? `event "${receiver.event.name}"` : "every event";
}
