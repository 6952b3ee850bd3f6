import type { Core } from "../core.ts";
import type { Receiver } from "../declaration/receiver.ts";
import { show } from "../declaration/refusals.ts";
import { untimed } from "../duration.ts";
import { type Instant, type InstantLike, instantOf } from "../instant.ts";
import type { NewDelivery, NewEvent } from "../storage/records.ts";
import { InlineContext } from "./inline_context.ts";
import type { TxScope } from "./transaction.ts";

/** An event whose debts are asked for. */
export interface Owing {
  readonly row: NewEvent;
  readonly receivers: readonly Receiver[];
  readonly view: unknown;
}

/**
 * The debts of an event: one per durable receiver, or one per target of a fan-out. Targets and due moments are asked
 * for in the firing transaction; what they throw fails the fire, since swallowing it would commit a change whose
 * consequences never happen.
 */
export async function debtsOf(scope: TxScope, { row, receivers, view }: Owing): Promise<NewDelivery[]> {
  const debts: NewDelivery[] = [];
  for (const receiver of receivers) {
    if (receiver.policy.mode !== "durable") continue;
    const context = new InlineContext(scope.core, row, receiver.key, scope);
    const due = await dueOf(receiver, view, context);
    for (const target of await targetsOf(receiver, view, context)) {
      debts.push(debt(scope.core, row.id, receiver, target, due));
    }
  }
  return debts;
}

/** One debt. */
export function debt(core: Core, eventId: string, receiver: Receiver, target: string, due: Due): NewDelivery {
  return {
    eventId,
    receiverKey: receiver.key,
    target,
    maxAttempts: receiver.policy.maxAttempts ?? core.settings.maxAttempts,
    orderKey: null,
    ...due,
  };
}

/** When a debt is due: at a moment, after a while, or at once. */
export interface Due {
  readonly dueAt: Instant | null;
  readonly dueInMs: number | null;
}

/** Due at once. */
export const AT_ONCE: Due = Object.freeze({ dueAt: null, dueInMs: null });

async function dueOf(receiver: Receiver, view: unknown, context: InlineContext): Promise<Due> {
  const { due } = receiver.policy;
  if (due === undefined) return AT_ONCE;
  if (typeof due === "number") return { dueAt: null, dueInMs: due };
  const answer = await due(view as never, context);
  const what = `what due of receiver "${receiver.key}" returned`;
  if (isInstant(answer)) return { dueAt: instantOf(answer, what), dueInMs: null };
  return { dueAt: null, dueInMs: untimed(answer, 0, what) };
}

function isInstant(value: unknown): value is InstantLike {
  return value instanceof Date ||
    (typeof value === "object" && value !== null &&
      typeof (value as { epochMilliseconds?: unknown }).epochMilliseconds === "number");
}

/**
 * The targets of a receiver: one empty one for a receiver that does not fan out.
 *
 * @throws {TypeError} for a target that is no string, or is empty (which means no fan-out), or that a row cannot hold
 */
export async function targetsOf(receiver: Receiver, view: unknown, context: InlineContext): Promise<Iterable<string>> {
  const { targets } = receiver.policy;
  if (targets === undefined) return [""];
  const what = `what targets of receiver "${receiver.key}" returned`;
  const returned: unknown = await targets(view as never, context);
  // A string is iterable too: each of its letters would be a target.
  if (typeof returned === "string" || typeof (returned as Iterable<string> | null)?.[Symbol.iterator] !== "function") {
    throw new TypeError(`Cannot use ${what}: expected a list of strings, got ${show(returned)}`);
  }
  const unique = new Set<string>();
  for (const target of returned as Iterable<unknown>) {
    if (typeof target !== "string" || target === "") {
      throw new TypeError(
        `Cannot use ${what}: each is a non-empty string, got ${target === "" ? "an empty one" : show(target)}`,
      );
    }
    if (target.includes("\0") || !target.isWellFormed()) {
      throw new TypeError(`Cannot use ${what}: one has a NUL or a lone surrogate`);
    }
    unique.add(target);
  }
  return unique;
}
