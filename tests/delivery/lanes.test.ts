import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Core } from "../../src/core.ts";
import { event } from "../../src/declaration/event.ts";
import { receiver } from "../../src/declaration/receiver.ts";
import { buildRegistry } from "../../src/declaration/registry.ts";
import { claimDue, keysOf, openKeys } from "../../src/delivery/claim.ts";
import { laneOf, lanesOf, requireLane } from "../../src/delivery/lanes.ts";
import { Pauses } from "../../src/delivery/pauses.ts";
import type { ClaimRequest } from "../../src/storage/storage.ts";
import { claimed, coreOf } from "./given.ts";

const placed = event("orders.placed");
const plain = receiver(placed, "stock", () => {});
const mail = receiver(placed, "mail", () => {}, { lane: "mail" });
const sms = receiver(placed, "sms", () => {}, { lane: "phone", lease: { minutes: 9 } });
const veto = receiver(placed, "veto", () => {}, { mode: "inline" });

function given(...receivers: Parameters<typeof buildRegistry>[0][number][]) {
  const asked: [keys: string[], limit: number][] = [];
  const claim = (request: ClaimRequest) => {
    asked.push([request.receivers.map(({ key }) => key), request.limit]);
    return Promise.resolve(request.receivers.map(({ key }, i) => claimed(i, { receiverKey: key })));
  };
  const core: Core = { ...coreOf({ claim }), registry: buildRegistry(receivers, []) };
  const clock = { now: 0 };
  const pauses = new Pauses(() => clock.now);
  const due = async (lane: string | null) => {
    const request = { worker: "w", limit: 100, lane, pauses, now: undefined };
    const rows = await claimDue(core, request);
    return [asked.splice(0), rows.map(({ receiverKey }) => receiverKey)];
  };
  return { core, clock, pauses, due };
}

describe("lanes", () => {
  it("are those that are declared, and always the default one", () => {
    assert.deepEqual(lanesOf(given(sms, plain, mail).core), ["default", "mail", "phone"]);
    assert.deepEqual(lanesOf(given(mail).core), ["default", "mail"]);
    assert.deepEqual(lanesOf(given().core), ["default"]);
  });

  it("a receiver that is unknown is in the default one", () => {
    const { core } = given(mail);
    assert.deepEqual(["mail", "gone"].map((key) => laneOf(core, key)), ["mail", "default"]);
  });

  it("have the keys of their durable receivers", () => {
    const { core } = given(plain, mail, sms, veto);
    assert.deepEqual(["default", "mail", null].map((lane) => keysOf(core, lane)), [
      ["stock"],
      ["mail"],
      ["stock", "mail", "sms"],
    ]);
  });

  it("pitfall 69: one that nobody declares is refused, and those that are declared are named", () => {
    const { core } = given(plain, mail, sms);
    for (const lane of ["mial", "", "Mail"]) {
      assert.throws(() => requireLane(core, lane), {
        name: "RangeError",
        message: `Cannot serve lane "${lane}": no listed receiver declares it, declared are default, mail, phone`,
      });
    }
    for (const lane of [null, "default", "mail"]) requireLane(core, lane);
    requireLane(given().core, "default");
  });

  it("pitfall 67: a lane without a receiver of its own claims nothing, not everything", async () => {
    assert.deepEqual(await given(mail).due("default"), [[], []]);
  });

  it("a lane that is set aside is not asked for", async () => {
    const { core, pauses, due } = given(plain, mail, sms);
    pauses.hold("mail", 10);
    assert.deepEqual(await due("mail"), [[], []]);
    assert.deepEqual(openKeys(core, "mail", pauses), []);
    assert.deepEqual(await due(null), [[[["stock", "sms"], 100]], ["stock", "sms"]]);
    assert.deepEqual(openKeys(core, null, pauses), ["stock", "sms"]);
  });

  it("a lane whose pause has ended is asked for one row", async () => {
    const { core, clock, pauses, due } = given(plain, mail);
    pauses.hold("mail", 10);
    clock.now = 10;
    assert.deepEqual(await due("mail"), [[[["mail"], 1]], ["mail"]]);
    assert.deepEqual(await due(null), [[[["stock"], 100], [["mail"], 1]], ["stock", "mail"]]);
    assert.deepEqual(openKeys(core, null, pauses), ["stock", "mail"]);
    pauses.start("mail");
    assert.deepEqual(await due(null), [[[["stock"], 100]], ["stock"]]);
  });
});
