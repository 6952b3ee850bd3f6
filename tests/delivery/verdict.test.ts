import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Outcome } from "../../src/delivery/outcome.ts";
import { NotYet, PermanentFailure, RetryAfter } from "../../src/delivery/thrown.ts";
import { pauseMs, verdict, type VerdictCase } from "../../src/delivery/verdict.ts";
import type { Duration } from "../../src/duration.ts";
import { columnsOf, type Settlement } from "../../src/storage/settlement.ts";

const row: VerdictCase = {
  receiverKey: "stock.reserve",
  eventName: "orders.placed",
  version: 2,
  attempt: 1,
  maxAttempts: 5,
  lapses: 0,
  curve: { baseMs: 2000, capMs: 3_600_000 },
  owedSince: BigInt(Date.UTC(2026, 0, 1)) * 1000n,
  owedForMs: 0,
  graceMs: 900_000,
  giveUpAfterMs: undefined,
  maxRetryAfterMs: 86_400_000,
};
const last = { ...row, attempt: 5 };
const conflict = (code: string) => Object.assign(new Error("could not serialize access"), { code });
const failed = (error: unknown): Outcome => ({ kind: "failed", error });
const newer = (metForMs: number): Outcome => ({ kind: "newerVersion", metForMs });
const text = "could not serialize access";
const bounded = { ...row, giveUpAfterMs: 172_800_000 };
const soon = new Date(Date.now() + 3_600_000);
const counting = (wait: Duration) => failed(new RetryAfter(wait, { reason: "busy" }));
const deferral = (wait: Duration) => failed(new RetryAfter(wait, { reason: "quota", counts: false }));
const givenUp = (seconds: number, reason = "RetryAfter: quota") => ({
  kind: "dead" as const,
  counted: false,
  error: `Given up: deferred, and owed for ${seconds} seconds, since 2026-01-01T00:00:00.000Z, which reaches ` +
    `giveUpAfter (172800 seconds). ${reason}`,
});
/** A class that cannot be asked for. */
const proxied = new Proxy(new RetryAfter({ seconds: 5 }), {
  getPrototypeOf: () => {
    throw new Error("getPrototypeOf");
  },
});

const table: [title: string, outcome: Outcome, about: VerdictCase, random: number, expected: Settlement | null][] = [
  ["success", { kind: "succeeded" }, row, 0.5, { kind: "succeeded" }],
  ["success on the last attempt", { kind: "succeeded" }, last, 0.5, { kind: "succeeded" }],
  ["success past its budget", { kind: "succeeded" }, { ...row, attempt: 9 }, 0.5, { kind: "succeeded" }],
  ["failure", failed(new Error("no")), row, 0.5, { kind: "retryAt", delayMs: 1000, error: "Error: no" }],
  ["failure, drawn 0", failed(new Error("no")), row, 0, {
    kind: "retryAt",
    delayMs: 0,
    error: "Error: no",
  }],
  ["third failure", failed(new Error("no")), { ...row, attempt: 3 }, 0.5, {
    kind: "retryAt",
    delayMs: 4000,
    error: "Error: no",
  }],
  ["last failure", failed(new Error("no")), last, 0.5, { kind: "dead", error: "Error: no", counted: true }],
  ["failure past its budget", failed(new Error("no")), { ...row, attempt: 9 }, 0.5, {
    kind: "dead",
    error: "Error: no",
    counted: true,
  }],
  ["failure with a budget of one", failed(new Error("no")), { ...row, maxAttempts: 1 }, 0.5, {
    kind: "dead",
    error: "Error: no",
    counted: true,
  }],
  ["a thrown string", failed("no"), row, 0, { kind: "retryAt", delayMs: 0, error: "string: no" }],
  ["serialization failure", failed(conflict("40001")), row, 0, {
    kind: "retryAt",
    delayMs: 50,
    error: `Error: ${text}`,
  }],
  ["deadlock, third time", failed(conflict("40P01")), { ...row, attempt: 3 }, 0.5, {
    kind: "retryAt",
    delayMs: 275,
    error: `Error: ${text}`,
  }],
  ["serialization failure, fourth time", failed(conflict("40001")), { ...row, attempt: 4 }, 0.5, {
    kind: "retryAt",
    delayMs: 8000,
    error: `Error: ${text}`,
  }],
  ["serialization failure on the last attempt", failed(conflict("40001")), last, 0, {
    kind: "dead",
    error: `Error: ${text}`,
    counted: true,
  }],
  ["another code", failed(conflict("23505")), row, 0.5, {
    kind: "retryAt",
    delayMs: 1000,
    error: `Error: ${text}`,
  }],
  ["a message that only speaks of 40001", failed(new Error("40001")), row, 0.5, {
    kind: "retryAt",
    delayMs: 1000,
    error: "Error: 40001",
  }],
  ["pitfall 78: a permanent failure", failed(new PermanentFailure("410 Gone")), row, 0.5, {
    kind: "dead",
    error: "PermanentFailure: 410 Gone",
    counted: true,
  }],
  ["a subclass of it", failed(new (class Retired extends PermanentFailure {})("gone")), row, 0.5, {
    kind: "dead",
    error: "PermanentFailure: gone",
    counted: true,
  }],
  ["pitfall 78: a plain error that says 410", failed(new Error("410 Gone")), row, 0.5, {
    kind: "retryAt",
    delayMs: 1000,
    error: "Error: 410 Gone",
  }],
  ["a plain error that bears the name", failed(Object.assign(new Error("no"), { name: "PermanentFailure" })), row, 0, {
    kind: "retryAt",
    delayMs: 0,
    error: "PermanentFailure: no",
  }],
  ["one whose cause it is", failed(new Error("no", { cause: new PermanentFailure("410") })), row, 0, {
    kind: "retryAt",
    delayMs: 0,
    error: "Error: no",
  }],
  ["a retry that was asked for, whatever is drawn", counting({ seconds: 120 }), row, 0.99, {
    kind: "retryAt",
    delayMs: 120_000,
    error: "RetryAfter: busy",
  }],
  ["a retry at once", counting({ seconds: 0 }), row, 0.5, { kind: "retryAt", delayMs: 0, error: "RetryAfter: busy" }],
  ["pitfall 79: a retry that was asked for on the last attempt", counting({ seconds: 0 }), last, 0.5, {
    kind: "dead",
    error: "RetryAfter: busy",
    counted: true,
  }],
  ["pitfall 81: a retry after exactly the most", counting({ days: 1 }), row, 0.5, {
    kind: "retryAt",
    delayMs: 86_400_000,
    error: "RetryAfter: busy",
  }],
  ["pitfall 81: a retry after more than that", counting({ days: 2 }), row, 0.5, {
    kind: "retryAt",
    delayMs: 86_400_000,
    error: "RetryAfter: busy",
  }],
  ["pitfall 81: a retry after more than the cap of the curve", counting({ hours: 2 }), row, 0.5, {
    kind: "retryAt",
    delayMs: 7_200_000,
    error: "RetryAfter: busy",
  }],
  [
    "a retry whose receiver has a bound and was owed for longer",
    counting({ seconds: 5 }),
    {
      ...bounded,
      owedForMs: 1e12,
    },
    0.5,
    { kind: "retryAt", delayMs: 5000, error: "RetryAfter: busy" },
  ],
  [
    "a failure whose receiver has a bound and was owed for longer",
    failed(new Error("no")),
    {
      ...bounded,
      owedForMs: 1e12,
    },
    0.5,
    { kind: "retryAt", delayMs: 1000, error: "Error: no" },
  ],
  ["a deferral, drawn 0", deferral({ seconds: 60 }), bounded, 0, {
    kind: "deferredUntil",
    delayMs: 60_000,
    error: "RetryAfter: quota",
  }],
  ["a deferral, drawn high", deferral({ seconds: 60 }), bounded, 0.75, {
    kind: "deferredUntil",
    delayMs: 105_000,
    error: "RetryAfter: quota",
  }],
  ["pitfall 83: a deferral past the budget", deferral({ seconds: 60 }), { ...bounded, attempt: 9 }, 0, {
    kind: "deferredUntil",
    delayMs: 60_000,
    error: "RetryAfter: quota",
  }],
  ["pitfall 81: a deferral whose jitter would go past the most", deferral({ hours: 20 }), bounded, 0.5, {
    kind: "deferredUntil",
    delayMs: 86_400_000,
    error: "RetryAfter: quota",
  }],
  ["pitfall 81: a deferral that asks for more than the most", deferral({ days: 2 }), bounded, 0, {
    kind: "deferredUntil",
    delayMs: 86_400_000,
    error: "RetryAfter: quota",
  }],
  [
    "pitfall 86: a deferral a microsecond before the bound",
    deferral({ seconds: 1 }),
    {
      ...bounded,
      owedForMs: 172_799_999.999,
    },
    0,
    { kind: "deferredUntil", delayMs: 1000, error: "RetryAfter: quota" },
  ],
  [
    "pitfall 86: a deferral at the bound",
    deferral({ seconds: 1 }),
    { ...bounded, owedForMs: 172_800_000 },
    0,
    givenUp(172_800),
  ],
  [
    "a deferral past the bound",
    deferral({ seconds: 1 }),
    { ...bounded, owedForMs: 200_000_500 },
    0,
    givenUp(200_000.5),
  ],
  ["pitfall 85: a deferral without a bound", deferral({ seconds: 60 }), row, 0.75, {
    kind: "retryAt",
    delayMs: 60_000,
    error: "RetryAfter: quota",
  }],
  ["pitfall 85: a deferral without a bound on the last attempt", deferral({ seconds: 60 }), last, 0, {
    kind: "dead",
    error: "RetryAfter: quota",
    counted: true,
  }],
  ["pitfall 98: not yet", failed(new NotYet(soon)), row, 0.5, {
    kind: "notYetUntil",
    until: BigInt(soon.getTime()) * 1000n,
  }],
  [
    "pitfall 98: not yet, on the last attempt and past the bound",
    failed(new NotYet(soon)),
    {
      ...bounded,
      attempt: 9,
      owedForMs: 1e12,
    },
    0.5,
    { kind: "notYetUntil", until: BigInt(soon.getTime()) * 1000n },
  ],
  ["one of them behind a proxy that refuses to be read", failed(proxied), row, 0, {
    kind: "retryAt",
    delayMs: 0,
    error: "unknown: (its text cannot be read)",
  }],
  ["undecodable on the first attempt", { kind: "undecodable", error: new Error("no") }, row, 0.5, {
    kind: "dead",
    error: "Error: no",
    counted: true,
  }],
  ["unknown receiver", { kind: "unknownReceiver" }, row, 0.5, {
    kind: "orphaned",
    error: 'No process has listed receiver "stock.reserve" lately; list it again and call replayEvents',
  }],
  ["newer version, just met", newer(0), { ...row, owedForMs: 1e12 }, 0.5, { kind: "postponed", delayMs: 30_000 }],
  ["newer version, 10 s before the grace ends", newer(890_000), row, 0.5, { kind: "postponed", delayMs: 10_000 }],
  ["newer version, 1 ms before the grace ends", newer(899_999), row, 0.5, { kind: "postponed", delayMs: 1 }],
  ["newer version, at the end of the grace", newer(900_000), row, 0.5, {
    kind: "dead",
    counted: false,
    error: 'No process that declares event "orders.placed" version 2 has taken the row lately; deploy the release ' +
      "that does and call replayEvents",
  }],
  ["newer version, without a grace", newer(0), { ...row, graceMs: 0 }, 0.5, {
    kind: "dead",
    counted: false,
    error: 'No process that declares event "orders.placed" version 2 has taken the row lately; deploy the release ' +
      "that does and call replayEvents",
  }],
  ["undeclared event, just met", { kind: "undeclaredEvent", metForMs: 0 }, last, 0.5, {
    kind: "postponed",
    delayMs: 30_000,
  }],
  ["undeclared event, at the end of the grace", { kind: "undeclaredEvent", metForMs: 900_000 }, row, 0.5, {
    kind: "dead",
    counted: false,
    error: 'No process in which receiver "stock.reserve" listens to event "orders.placed" has taken the row lately; ' +
      "deploy the release that does and call replayEvents",
  }],
  ["lapsed too often", { kind: "lapsedTooOften" }, { ...row, lapses: 6 }, 0.5, {
    kind: "dead",
    counted: false,
    error: 'Claimed 6 times without an outcome: whoever runs receiver "stock.reserve" dies or outlives its lease ' +
      "each time",
  }],
  ["not handed over", { kind: "notHandedOver" }, last, 0.5, { kind: "postponed", delayMs: 2000 }],
  ["handed over", { kind: "handedOver" }, row, 0.5, null],
  ["released", { kind: "released" }, last, 0.5, { kind: "released" }],
  [
    "a transaction that could not be opened counts nothing and waits like a failure",
    { kind: "notOpened" },
    last,
    0,
    { kind: "postponed", delayMs: 0 },
  ],
  ["lost", { kind: "lost" }, row, 0.5, null],
  ["lost on the last attempt", { kind: "lost" }, last, 0.5, null],
  ["unrecorded", { kind: "unrecorded", error: new Error("gone") }, last, 0.5, null],
];

describe("verdict", () => {
  for (const [title, outcome, about, random, expected] of table) {
    it(title, () => assert.deepEqual(verdict(outcome, about, random), expected));
  }

  it("has a row of the table for every outcome", () => {
    const kinds: Record<Outcome["kind"], true> = {
      succeeded: true,
      failed: true,
      undecodable: true,
      unknownReceiver: true,
      undeclaredEvent: true,
      newerVersion: true,
      lapsedTooOften: true,
      handedOver: true,
      notHandedOver: true,
      notOpened: true,
      released: true,
      lost: true,
      unrecorded: true,
    };
    assert.deepEqual(new Set(table.map(([, outcome]) => outcome.kind)), new Set(Object.keys(kinds)));
  });

  it("whatever is thrown, one attempt is spent, and a delivery has no more of them than it was fired with", () => {
    fc.assert(fc.property(
      fc.anything(),
      fc.integer({ min: 1, max: 100 }),
      fc.integer({ min: 1, max: 100 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (thrown, attempt, maxAttempts, random) => {
        const settlement = verdict(failed(thrown), { ...row, attempt, maxAttempts }, random)!;
        assert.equal(settlement.kind, attempt >= maxAttempts ? "dead" : "retryAt");
        assert.equal(columnsOf(settlement).attempts, 1);
        if (settlement.kind === "retryAt") assert.ok(settlement.delayMs >= 0 && Number.isFinite(settlement.delayMs));
      },
    ));
  });

  it("a deferral waits at least as long as it asked, at most twice that, and never longer than the most", () => {
    fc.assert(fc.property(
      fc.integer({ min: 1, max: 200_000_000 }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.integer({ min: 1, max: 100 }),
      (milliseconds, random, attempt) => {
        const settlement = verdict(deferral({ milliseconds }), { ...bounded, attempt }, random)!;
        assert.ok(settlement.kind === "deferredUntil");
        const asked = Math.min(milliseconds, bounded.maxRetryAfterMs);
        assert.ok(settlement.delayMs >= asked && settlement.delayMs <= asked * 2);
        assert.ok(settlement.delayMs <= bounded.maxRetryAfterMs);
        assert.equal(columnsOf(settlement).attempts, 0);
      },
    ));
  });

  it("an error that names the bound is no longer than a column takes", () => {
    const endless = failed(new RetryAfter({ seconds: 1 }, { reason: "\u{1F680}".repeat(2000), counts: false }));
    const settlement = verdict(endless, { ...bounded, owedForMs: 172_800_000 }, 0)!;
    assert.ok(settlement.kind === "dead" && settlement.error.length === 2000 && settlement.error.isWellFormed());
  });

  it("is given even for an error that refuses to be read", () => {
    const hostile = Object.defineProperties(new Error("no"), {
      code: { get: () => assert.fail("read") },
      message: { get: () => assert.fail("read") },
    });
    assert.deepEqual(verdict(failed(hostile), row, 0), {
      kind: "retryAt",
      delayMs: 0,
      error: "Error: (its text cannot be read)",
    });
  });
});

describe("the pause of a lane", () => {
  const pauses: [title: string, outcome: Outcome, about: VerdictCase, ms: number | undefined][] = [
    ["a deferral: as long as it asked, without the jitter", deferral({ seconds: 60 }), bounded, 60_000],
    ["a deferral that asks for too much: the most", deferral({ days: 2 }), bounded, 86_400_000],
    ["the deferral that gives up", deferral({ seconds: 60 }), { ...bounded, owedForMs: 1e12 }, 60_000],
    ["pitfall 85: a deferral without a bound: none", deferral({ seconds: 60 }), row, undefined],
    ["a retry that counts: none", counting({ seconds: 60 }), bounded, undefined],
    ["not yet: none", failed(new NotYet(soon)), bounded, undefined],
    ["a permanent failure: none", failed(new PermanentFailure("gone")), bounded, undefined],
    ["a failure: none", failed(new Error("no")), bounded, undefined],
    ["what refuses to be read: none", failed(proxied), bounded, undefined],
    ["a success: none", { kind: "succeeded" }, bounded, undefined],
    ["a lost row: none", { kind: "lost" }, bounded, undefined],
  ];
  for (const [title, outcome, about, ms] of pauses) {
    it(title, () => assert.equal(pauseMs(outcome, about), ms));
  }
});

describe("the columns of a settlement", () => {
  const nothing = { status: null, attempts: 0, delayMs: null, dueAt: null, error: null, completes: false } as const;
  const columns: [Settlement, Partial<ReturnType<typeof columnsOf>>][] = [
    [{ kind: "succeeded" }, { status: "succeeded", attempts: 1, completes: true }],
    [{ kind: "retryAt", delayMs: 5, error: "e" }, { status: "failed", attempts: 1, delayMs: 5, error: "e" }],
    [{ kind: "deferredUntil", delayMs: 5, error: "e" }, { status: "failed", delayMs: 5, error: "e" }],
    [{ kind: "notYetUntil", until: 7n }, { status: "pending", dueAt: 7n }],
    [{ kind: "dead", error: "e", counted: true }, { status: "dead", attempts: 1, error: "e", completes: true }],
    [{ kind: "dead", error: "e", counted: false }, { status: "dead", error: "e", completes: true }],
    [{ kind: "orphaned", error: "e" }, { status: "orphaned", error: "e", completes: true }],
    [{ kind: "postponed", delayMs: 5 }, { delayMs: 5 }],
    [{ kind: "released" }, {}],
  ];
  for (const [settlement, expected] of columns) {
    const title = JSON.stringify(settlement, (_, value) => typeof value === "bigint" ? String(value) : value);
    it(title, () => assert.deepEqual(columnsOf(settlement), { ...nothing, ...expected }));
  }
});
