import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Settings } from "../../src/declaration/settings.ts";
import type { ReceiverOptions } from "../../src/declaration/receiver_options.ts";
import { Attempt } from "../../src/delivery/attempt.ts";
import { caseOf } from "../../src/delivery/case.ts";
import type { ClaimedDelivery } from "../../src/storage/records.ts";
import { claimed, coreOf } from "./given.ts";

function given(row: Partial<ClaimedDelivery>, settings: Settings = {}, options: ReceiverOptions = {}) {
  const core = coreOf({}, settings, options);
  return caseOf(core, new Attempt(core, claimed(1, row)));
}

describe("the case of a verdict", () => {
  it("counts the attempt that ran, and takes its budget from the row", () => {
    const { attempt, maxAttempts, lapses } = given({ attempts: 2, maxAttempts: 7, lapses: 3 }, { maxAttempts: 1 });
    assert.deepEqual({ attempt, maxAttempts, lapses }, { attempt: 3, maxAttempts: 7, lapses: 3 });
  });

  const settings: Settings = { backoff: { base: { seconds: 2 }, cap: { seconds: 60 } } };
  const curves: [title: string, options: ReceiverOptions, baseMs: number, capMs: number][] = [
    ["the settings", {}, 2000, 60_000],
    ["its own base and the settings' cap", { backoff: { base: { seconds: 5 } } }, 5000, 60_000],
    ["the settings' base and its own cap", { backoff: { cap: { seconds: 9 } } }, 2000, 9000],
    ["its own of both", { backoff: { base: { seconds: 5 }, cap: { seconds: 5 } } }, 5000, 5000],
    [
      "its own base alone when that lies above the settings' cap",
      { backoff: { base: { hours: 1 } } },
      3_600_000,
      3_600_000,
    ],
  ];
  for (const [title, options, baseMs, capMs] of curves) {
    it(`the curve is that of ${title}`, () => assert.deepEqual(given({}, settings, options).curve, { baseMs, capMs }));
  }

  it("the curve of a receiver that is not listed is that of the settings", () => {
    assert.deepEqual(given({ receiverKey: "gone" }, settings).curve, { baseMs: 2000, capMs: 60_000 });
  });

  it("the age counts from the debt, or from the scheduled moment, by the claim's clock", () => {
    assert.equal(given({ owedSince: 1_000_000n, claimedNow: 3_500_999n }).owedForMs, 2500.999);
    const scheduled = given({ owedSince: 1_000_000n, dueAt: 3_000_000n, claimedNow: 3_500_000n });
    assert.deepEqual([scheduled.owedForMs, scheduled.owedSince], [500, 3_000_000n]);
  });

  it("the bound of deferrals is the receiver's, and the most that it may ask for is the setting's", () => {
    const { giveUpAfterMs, maxRetryAfterMs } = given({}, { maxRetryAfter: { hours: 3 } }, {
      giveUpAfter: { days: 40 },
    });
    assert.deepEqual([giveUpAfterMs, maxRetryAfterMs], [3_456_000_000, 10_800_000]);
    assert.equal(given({}).giveUpAfterMs, undefined);
    assert.equal(given({}).maxRetryAfterMs, 86_400_000);
    assert.equal(given({ receiverKey: "gone" }, {}, { giveUpAfter: { days: 1 } }).giveUpAfterMs, undefined);
  });
});
