import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anyEvent, type AnyEventDefinition, event } from "../../src/declaration/event.ts";
import { type Receiver, receiver } from "../../src/declaration/receiver.ts";
import { buildRegistry } from "../../src/declaration/registry.ts";

const placed = event("orders.placed");
const paid = event("orders.paid");
const nothing = () => {};
const build = (receivers: unknown, events: unknown = []) =>
  buildRegistry(receivers as Receiver[], events as AnyEventDefinition[]);
const keys = (receivers: readonly Receiver[]) => receivers.map(({ key }) => key);

describe("registry", () => {
  it("knows who listens to what, in the order of the list", () => {
    const registry = build([
      receiver(placed, "b", nothing),
      receiver(placed, "a", nothing, { mode: "inline" }),
      receiver(paid, "c", nothing, { mode: "on-commit" }),
    ]);
    assert.deepEqual(keys(registry.receiversOf("orders.placed")), ["b", "a"]);
    assert.deepEqual(keys(registry.receiversOf("orders.paid")), ["c"]);
    assert.deepEqual(registry.receiversOf("orders.unknown"), []);
    assert.deepEqual(registry.durableKeys, ["b"]);
    assert.deepEqual([...registry.events.keys()], ["orders.placed", "orders.paid"]);
  });

  it("a receiver of every event hears those that are declared after it", () => {
    const audit = receiver(anyEvent, "audit", nothing);
    const later = event("later.declared");
    const registry = build([audit, receiver(placed, "stock", nothing)], [later]);
    assert.deepEqual(keys(registry.receiversOf("orders.placed")), ["audit", "stock"]);
    assert.deepEqual(keys(registry.receiversOf("later.declared")), ["audit"]);
    assert.deepEqual(registry.receiversOf("nobody.declared"), []);
  });

  it("a receiver of every event alone is no error", () => {
    const registry = build([receiver(anyEvent, "audit", nothing)]);
    assert.equal(registry.events.size, 0);
    assert.deepEqual(registry.durableKeys, ["audit"]);
  });

  it("names that objects have anyway are names like any other", () => {
    const odd = event("__proto__");
    const registry = build([receiver(odd, "constructor", nothing)]);
    assert.deepEqual(keys(registry.receiversOf("__proto__")), ["constructor"]);
    assert.deepEqual(registry.receiversOf("toString"), []);
  });

  const one = receiver(placed, "stock.reserve", nothing);
  const refused: [title: string, receivers: unknown, events: unknown, says: RegExp][] = [
    [
      "two receivers with one key",
      [one, receiver(paid, "stock.reserve", nothing)],
      [],
      /two receivers have the key "stock\.reserve", one for event "orders\.placed" and one for event "orders\.paid"/,
    ],
    [
      "one function under one key for an event and for every event",
      [one, receiver(anyEvent, "stock.reserve", nothing)],
      [],
      /one for event "orders\.placed" and one for every event/,
    ],
    [
      "one key whose options differ",
      [one, receiver(placed, "stock.reserve", nothing, { mode: "inline" })],
      [],
      /two receivers have the key/,
    ],
    [
      "one key declared twice alike",
      [one, receiver(placed, "stock.reserve", nothing)],
      [],
      /two receivers have the key/,
    ],
    ["a receiver that is listed twice", [one, one], [], /receiver "stock\.reserve" is listed twice/],
    ["two events under one name", [one], [event("orders.placed")], /two declarations of event "orders\.placed"/],
    ["a function as a receiver", [nothing], [], /receivers must hold what receiver\(\) returned/],
    ["a copy of a receiver", [{ ...one }], [], /receivers must hold what receiver\(\) returned/],
    ["an event among the receivers", [placed], [], /receivers must hold what receiver\(\) returned/],
    ["an event's instance among the events", [], [placed({})], /events must hold what event\(\) returned/],
    ["no list of receivers", undefined, [], /receivers must be an array/],
    ["a record of receivers", { one }, [], /receivers must be an array/],
    ["a single event for the list", [], placed, /events must be an array/],
  ];
  for (const [title, receivers, events, says] of refused) {
    it(`refuses ${title}`, () => {
      assert.throws(() => build(receivers, events), (error: Error) => {
        assert.ok(error instanceof TypeError);
        assert.match(error.message, /^Cannot build the outbox: /);
        assert.match(error.message, says);
        return true;
      });
    });
  }

  it("an event may be listed by name as well as through its receivers, and twice", () => {
    assert.equal(build([one], [placed, placed]).events.size, 1);
  });
});
