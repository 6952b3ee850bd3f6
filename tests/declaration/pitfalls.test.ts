import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { anyEvent, event } from "../../src/declaration/event.ts";
import { type Receiver, receiver } from "../../src/declaration/receiver.ts";
import { buildRegistry } from "../../src/declaration/registry.ts";

const Placed = event("orders.placed");
const Paid = event("orders.paid");
const both = () => {};

describe("pitfalls of declaring", () => {
  it("pitfall 26: one function listens to two events under two keys, and two receivers under one key are refused", () => {
    const registry = buildRegistry([receiver(Placed, "mail.placed", both), receiver(Paid, "mail.paid", both)], []);
    assert.deepEqual(registry.durableKeys, ["mail.placed", "mail.paid"]);
    const one = [receiver(Placed, "mail", both), receiver(Paid, "mail", both)];
    assert.throws(() => buildRegistry(one, []), /two receivers have the key "mail"/);
    // A key is never made up from a function's name.
    assert.throws(() => receiver(Placed, undefined as never, both), /its key must be a non-empty string/);
  });

  it("pitfall 27: one key with another mode or budget is refused, though the function is the same", () => {
    const first = receiver(Placed, "mail", both);
    for (const options of [{ mode: "inline" }, { maxAttempts: 7 }] as const) {
      assert.throws(() => buildRegistry([first, receiver(Placed, "mail", both, options)], []), TypeError);
    }
    // The same declaration reaches two lists when two modules import it; within one list it is a mistake.
    assert.throws(() => buildRegistry([first, first], []), /"mail" is listed twice/);
    assert.doesNotThrow(() => [buildRegistry([first], []), buildRegistry([first], [])]);
  });

  it("pitfall 30: a lease that has lapsed before the receiver starts is refused", () => {
    for (const lease of [{ seconds: 0 }, { seconds: -1 }, { milliseconds: 0.4 }]) {
      assert.throws(() => receiver(Placed, "mail", both, { lease }), /lease of receiver "mail"/);
    }
  });

  it("pitfall 31: a cap below its base is refused where both are given; alone and equal they are taken", () => {
    const base = { seconds: 120 };
    assert.throws(
      () => receiver(Placed, "mail", both, { backoff: { base, cap: { seconds: 119 } } }),
      /the base would never be read/,
    );
    for (const backoff of [{ base }, { cap: { milliseconds: 1 } }, { base, cap: base }]) {
      assert.doesNotThrow(() => receiver(Placed, "mail", both, { backoff }));
    }
  });

  it("pitfall 34: upgrade is called as a plain function, and one that takes too much is refused", () => {
    const seen: unknown[] = [];
    class Upgrades {
      upgrade(this: unknown, payload: unknown): unknown {
        seen.push(this);
        return payload;
      }
    }
    const Upgraded = event("orders.placed", { version: 2, upgrade: new Upgrades().upgrade });
    const { upgrade } = Upgraded;
    upgrade!({}, 1);
    assert.deepEqual(seen, [undefined]);
    const three = (_a: unknown, _b: unknown, _c: unknown) => ({});
    assert.throws(() => event("orders.placed", { upgrade: three as never }), /takes \(payload, fromVersion\)/);
  });

  it("pitfall 35: a receiver of every event is owed one that is declared after it", () => {
    const audit = receiver(anyEvent, "audit", both);
    const Later = event("later.declared");
    const keys = buildRegistry([audit], [Later]).receiversOf("later.declared").map(({ key }) => key);
    assert.deepEqual(keys, ["audit"]);
  });

  it("pitfall 37: a receiver of every event needs no declaration of its own", () => {
    assert.doesNotThrow(() => buildRegistry([receiver(anyEvent, "audit", both)], []));
    assert.throws(() => receiver({ every: true } as never, "audit", both), /must be made by event\(\), or be anyEvent/);
  });

  it("pitfall 38: a receiver that a test declares listens nowhere until it is listed", () => {
    const production = [receiver(Placed, "stock", both)];
    receiver(Placed, "test.watch", both);
    const registry = buildRegistry(production as Receiver[], []);
    assert.deepEqual(registry.receiversOf("orders.placed").map(({ key }) => key), ["stock"]);
  });
});
