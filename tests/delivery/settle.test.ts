import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { DurableContext } from "../../src/delivery/context.ts";
import { conclude } from "../../src/delivery/settle.ts";
import type { Acknowledgement, Storage } from "../../src/storage/storage.ts";
import { FakeTime, turn } from "../support/fake_time.ts";
import { attemptOf, coreOf } from "./given.ts";

const silence = () => new Promise<never>(() => {});

/** An attempt whose receiver has asked for its transaction, on a database of these verbs. */
function asked(verbs: Partial<Storage>) {
  const capabilities = { listen: false, singleWriter: false, maxConcurrency: 10 };
  const core = coreOf({ capabilities, ...verbs });
  const { attempt } = attemptOf(core, 1);
  const context = new DurableContext(core, attempt, undefined);
  attempt.context = context;
  const opened = context.transaction();
  opened.catch(() => {});
  return { core, attempt, opened };
}

/** One whose connection falls silent once it is open. */
function silent() {
  let abandoned = 0;
  const acknowledgement = {
    tx: { doom: silence },
    finish: silence,
    abandon: () => {
      abandoned++;
      return silence();
    },
  } as unknown as Acknowledgement;
  return { ...asked({ acknowledge: () => Promise.resolve(acknowledgement) }), abandoned: () => abandoned };
}

describe("the end of an attempt", () => {
  it("does not wait for ever for a commit: nothing is known of it, and nothing recorded", async () => {
    using time = new FakeTime();
    const { core, attempt, opened, abandoned } = silent();
    await opened;
    attempt.outcome = { kind: "succeeded" };
    let concluded = false;
    void conclude(core, attempt).then(() => concluded = true);
    await time.pass(39_000);
    assert.equal(concluded, false);
    await time.pass(1000);
    assert.equal(concluded, true);
    assert.equal(attempt.outcome.kind as string, "unrecorded");
    assert.deepEqual([attempt.settlement, attempt.answer, abandoned()], [null, undefined, 1]);
    assert.equal(time.timers, 0);
  });

  it("nor for a statement that the receiver left under way", async () => {
    using time = new FakeTime();
    const { core, attempt, opened } = silent();
    await opened;
    void attempt.context!.fireIn(silence);
    attempt.outcome = { kind: "succeeded" };
    const concluding = conclude(core, attempt);
    await time.pass(40_000);
    await concluding;
    assert.equal(attempt.outcome.kind as string, "unrecorded");
  });

  it("is no failure when its time went by waiting for its transaction to open", async () => {
    using _time = new FakeTime();
    const { core, attempt } = asked({ acknowledge: silence });
    await turn();
    const reason = new Error("timeout");
    attempt.interrupt({ kind: "timeout", reason });
    attempt.outcome = { kind: "failed", error: reason };
    await conclude(core, attempt);
    assert.equal(attempt.outcome.kind as string, "notOpened");
    assert.equal(attempt.settlement?.kind, "postponed");
  });

  it("is one when the transaction was open", async () => {
    using _time = new FakeTime();
    const { core, attempt, opened } = silent();
    await opened;
    const reason = new Error("timeout");
    attempt.interrupt({ kind: "timeout", reason });
    attempt.outcome = { kind: "failed", error: reason };
    await conclude(core, attempt);
    assert.equal(attempt.settlement?.kind, "retryAt");
  });
});
