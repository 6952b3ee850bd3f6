import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Acknowledger } from "../../src/delivery/acknowledger.ts";
import type { Answer, FencedSettlement } from "../../src/storage/settlement.ts";
import { turn } from "../support/fake_time.ts";

const settlementOf = (id: number): FencedSettlement => ({
  fence: { id: String(id), claimedBy: "w", claimedAt: 1n },
  settlement: { kind: "succeeded" },
});

/** An acknowledger with a database that answers when the test says so, and a sleep that ends when the test says so. */
class Bench {
  readonly sent: { ids: string[]; answer: (answers: Answer[]) => void; fail: () => void }[] = [];
  readonly slept: number[] = [];
  readonly wakes: (() => void)[] = [];
  readonly answers = new Map<string, Answer>();
  readonly acknowledger = new Acknowledger(
    (group) =>
      new Promise((answer, reject) => {
        this.sent.push({
          ids: group.map(({ fence }) => fence.id),
          answer,
          fail: () => reject(new Error("connection lost")),
        });
      }),
    (ms) => {
      this.slept.push(ms);
      return new Promise<void>((wake) => this.wakes.push(wake));
    },
  );

  settle(...ids: number[]): void {
    for (const id of ids) {
      void this.acknowledger.settle(settlementOf(id)).then((answer) => this.answers.set(String(id), answer));
    }
  }
}

describe("acknowledger", () => {
  it("sends everything that finished in one turn of the event loop together", async () => {
    const bench = new Bench();
    bench.settle(1);
    await Promise.resolve();
    bench.settle(2, 3);
    assert.equal(bench.sent.length, 0);
    await turn();
    assert.deepEqual(bench.sent.map(({ ids }) => ids), [["1", "2", "3"]]);
    bench.sent[0]!.answer(["applied", "lost", "gone"]);
    await turn();
    assert.deepEqual([...bench.answers], [["1", "applied"], ["2", "lost"], ["3", "gone"]]);
  });

  it("makes one group of what arrives while another is on its way", async () => {
    const bench = new Bench();
    bench.settle(1);
    await turn();
    bench.settle(2);
    await turn();
    bench.settle(3, 4);
    await turn();
    assert.equal(bench.sent.length, 1, "one statement at a time");
    bench.sent[0]!.answer(["applied"]);
    await turn();
    assert.deepEqual(bench.sent[1]!.ids, ["2", "3", "4"]);
    bench.sent[1]!.answer(["applied", "applied", "already"]);
    await turn();
    assert.equal(bench.answers.get("4"), "already");
    bench.settle(5);
    await turn();
    assert.deepEqual(bench.sent[2]!.ids, ["5"], "and it goes on after a pause");
  });

  it("sends at most 1000 at a time, in order", async () => {
    const bench = new Bench();
    bench.settle(...Array(2500).keys());
    for (const length of [1000, 1000, 500]) {
      await turn();
      assert.equal(bench.sent.at(-1)!.ids.length, length);
      bench.sent.at(-1)!.answer(Array(length).fill("applied"));
    }
    await turn();
    assert.equal(bench.answers.size, 2500);
    assert.deepEqual(bench.sent.flatMap(({ ids }) => ids), [...Array(2500).keys()].map(String));
  });

  it("sends a group again until it is answered, with waits that double up to 5 s", async () => {
    const bench = new Bench();
    bench.settle(1, 2);
    for (let i = 0; i < 8; i++) {
      await turn();
      bench.sent.at(-1)!.fail();
      await turn();
      bench.wakes.at(-1)!();
    }
    await turn();
    assert.deepEqual(bench.slept, [100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    assert.ok(bench.sent.every(({ ids }) => ids.join() === "1,2"));
    bench.sent.at(-1)!.answer(["already", "applied"]);
    await turn();
    assert.deepEqual([...bench.answers.values()], ["already", "applied"]);
    bench.settle(3);
    await turn();
    bench.sent.at(-1)!.fail();
    await turn();
    assert.equal(bench.slept.at(-1), 100, "the next outage begins small");
  });

  it("sends what was busy again after a while, with what came meanwhile, and holds up nothing else", async () => {
    const bench = new Bench();
    bench.settle(1, 2);
    await turn();
    bench.sent[0]!.answer(["busy", "applied"]);
    await turn();
    assert.deepEqual([...bench.answers.keys()], ["2"]);
    bench.settle(3);
    await turn();
    assert.deepEqual(bench.sent[1]!.ids, ["3"]);
    bench.sent[1]!.answer(["applied"]);
    await turn();
    assert.deepEqual(bench.slept, [100]);
    bench.wakes[0]!();
    await turn();
    await turn();
    assert.deepEqual(bench.sent[2]!.ids, ["1"]);
    bench.sent[2]!.answer(["applied"]);
    await turn();
    assert.equal(bench.answers.get("1"), "applied");
  });

  it("gives up: nothing is sent again, and what was not answered is lost", async () => {
    const bench = new Bench();
    bench.settle(1);
    await turn();
    bench.sent[0]!.fail();
    await turn();
    bench.acknowledger.giveUp();
    bench.wakes[0]!();
    await turn();
    bench.sent[1]!.fail();
    await turn();
    assert.deepEqual([...bench.answers], [["1", "lost"]]);
    bench.settle(2);
    await turn();
    bench.sent[2]!.answer(["busy"]);
    await turn();
    assert.equal(bench.answers.get("2"), "busy", "it is not asked again either");
  });

  it("takes an answer that is missing for a loss", async () => {
    const bench = new Bench();
    bench.settle(1, 2);
    await turn();
    bench.sent[0]!.answer(["applied"]);
    await turn();
    assert.equal(bench.answers.get("2"), "lost");
  });
});
