import assert from "node:assert/strict";
import type { DeliveryRecord, NewEvent } from "../../../src/storage/records.ts";
import type { Fence, Settlement } from "../../../src/storage/settlement.ts";
import { type Move, MOVES, OWED, SETTLED, type Status } from "../../../src/storage/states.ts";
import type { Cases, Given } from "./given.ts";
import { aDebt, anEvent, dead, deferredFor, notYet, orphaned, released, retryIn, succeeded } from "./samples.ts";

type From = Move["from"];

/** A row in some state: its event, and the fence of its last claim, or one that was never given. */
interface Subject {
  readonly event: NewEvent;
  readonly fence: Fence;
}

const key = "stock.reserve";

async function claimed(given: Given, afterFailure = false): Promise<Subject> {
  const event = await given.fire({ dedupeKey: "once" });
  if (afterFailure) await given.settled(await given.claimOne(), retryIn(0));
  return { event, fence: (await given.claimOne({ leaseMs: 1_000 })).fence };
}

async function ended(given: Given, settlement: Settlement): Promise<Subject> {
  const subject = await claimed(given);
  await given.settled(subject, settlement);
  return subject;
}

const arrange: Readonly<Record<From, (given: Given, afterFailure: boolean) => Promise<Subject>>> = {
  "(none)": () => {
    const event = anEvent({ dedupeKey: "once" });
    return Promise.resolve({ event, fence: { id: "987654321", claimedBy: "worker-a", claimedAt: 1n } });
  },
  pending: async (given) => {
    const event = await given.fire({ dedupeKey: "once" });
    const { id } = await given.row();
    return { event, fence: { id, claimedBy: "worker-a", claimedAt: given.now } };
  },
  claimed,
  failed: (given) => ended(given, retryIn(0)),
  succeeded: (given) => ended(given, succeeded),
  dead: (given) => ended(given, dead()),
  orphaned: (given) => ended(given, orphaned),
  cancelled: async (given) => {
    // No verb cancels yet: written as one will.
    const event = await given.fire({ dedupeKey: "once" });
    await given.database.query(
      `update ${given.database.table("deliveries")} set status = 'cancelled', completed_at = available_at`,
    );
    const { id } = await given.row();
    return { event, fence: { id, claimedBy: "worker-a", claimedAt: given.now } };
  },
};

type Act = (given: Given, subject: Subject) => Promise<unknown>;

function settling(settlement: Settlement): Act {
  return (given, { fence }) => given.storage.settle([{ fence, settlement }], given.now);
}

const act: Readonly<Record<string, Act>> = {
  fire: (given, { event }) =>
    given.storage.transaction((tx) => {
      const again = anEvent({ ...event, id: anEvent().id });
      return given.storage.append(tx, [again], [aDebt(again, { receiverKey: key })], given.now);
    }),
  claim: (given) => given.claim({ worker: "worker-b" }),
  "claim (lease lapsed)": (given) => given.claim({ worker: "worker-b", now: given.later(1_000) }),
  success: settling(succeeded),
  "failure, attempts left": settling(retryIn(1_000)),
  "failure, budget spent": settling(dead()),
  "failure for good": settling(dead("PermanentFailure: 410")),
  "deferral": settling(deferredFor(1_000)),
  "deferral after the bound": settling(dead("Given up", false)),
  "not due yet": settling(notYet(2n ** 52n)),
  "undecodable payload": settling(dead("SyntaxError: not JSON")),
  "too many lapses": settling(dead("lapsed", false)),
  "receiver unknown": settling(orphaned),
  "hand back": settling(released),
  "hand back (has failed before)": settling(released),
  "take (by a task)": (given, { fence }) =>
    given.storage.take({ fence, worker: "worker-b", leaseMs: 60_000, now: given.now }),
  "replay": (given, { event }) => {
    const deliveries = [aDebt(event, { receiverKey: key })];
    return given.storage.reopen([{ eventId: event.id, deliveries }], given.now);
  },
};

/** Pairs that say nothing: a row that is owed and not claimed has no lease to lapse. */
const senseless = new Set(["pending, claim (lease lapsed)", "failed, claim (lease lapsed)"]);

const afterFailure = (verb: string) => verb.includes("has failed before");

function moves(from: From, verb: string, to: Status | undefined): (given: Given) => Promise<void> {
  return async (given) => {
    const subject = await arrange[from](given, afterFailure(verb));
    // Shown at the moment of the act, when a lease that has lapsed no longer shows.
    const now = verb === "claim (lease lapsed)" && to === undefined ? given.later(1_000) : given.now;
    const before = await given.rows(now);
    assert.deepEqual(before.map((row) => row.status), from === "(none)" ? [] : [from]);
    await act[verb]!(given, subject);
    const rows: DeliveryRecord[] = await given.rows(to === "claimed" ? given.later(1_000 * 1.5) : now);
    if (to === undefined) assert.deepEqual(rows, before);
    else assert.deepEqual(rows.map((row) => row.status), [to]);
  };
}

/** Every state with every verb: what `MOVES` lists moves, and what it does not leaves the row untouched. */
function everyPair(): Cases {
  const states: From[] = ["(none)", ...OWED, ...SETTLED];
  return Object.fromEntries(
    states.flatMap((from) =>
      Object.keys(act).filter((verb) => !senseless.has(`${from}, ${verb}`)).map((verb) => {
        const to = MOVES.find((move) => move.from === from && move.verb === verb)?.to;
        return [`${from}, ${verb}: ${to ?? "untouched"}`, moves(from, verb, to)];
      })
    ),
  );
}

export const stateCases: Cases = {
  "every move has a verb here": () => {
    assert.deepEqual(MOVES.map(({ verb }) => verb).filter((verb) => !(verb in act)), []);
    assert.deepEqual(Object.keys(act).filter((verb) => !MOVES.some((move) => move.verb === verb)), []);
    return Promise.resolve();
  },

  ...everyPair(),
};
