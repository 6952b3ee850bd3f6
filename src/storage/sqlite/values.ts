/** Batches as the one JSON text that a statement takes; shapes.ts has the positions. */
import { createHash } from "node:crypto";
import { isDeliveryId } from "../delivery_id.ts";
import type { NewDelivery, NewEvent } from "../records.ts";
import { columnsOf, type Fence, type FencedSettlement } from "../settlement.ts";
import type { ClaimedReceiver, Renewal } from "../storage.ts";
import { EVENT } from "./shapes.ts";

/** Of `appendEvents`. */
export function eventsText(events: readonly NewEvent[]): string {
  return listOf(events, (event) =>
    EVENT.map((name) => {
      const value = event[name];
      return typeof value === "bigint" ? value.toString() : JSON.stringify(value);
    }));
}

/** Of `appendDeliveries` and `reopen`. */
export function deliveriesText(deliveries: readonly NewDelivery[]): string {
  return listOf(deliveries, ({ eventId, receiverKey, target, maxAttempts, orderKey, dueAt, dueInMs }) => [
    JSON.stringify(eventId),
    JSON.stringify(receiverKey),
    JSON.stringify(target),
    `"${digestOf(target)}"`,
    `${maxAttempts}`,
    JSON.stringify(orderKey),
    ...dueAt === null && dueInMs === null ? [] : [`${dueAt}`, dueInMs === null ? "null" : `${microseconds(dueInMs)}`],
  ]);
}

/** Of the claims. */
export function receiversText(receivers: readonly ClaimedReceiver[]): string {
  return listOf(receivers, ({ key, from }) => [
    JSON.stringify(key),
    from ? `${from.availableAt}` : "-9223372036854775808",
    from ? integer(from.id) : "0",
  ]);
}

/** Of `settleSucceeded`. */
export function fencesText(fences: readonly Fence[]): string {
  return listOf(fences, partsOf);
}

/** Of `settle`. */
export function settlementsText(settlements: readonly FencedSettlement[]): string {
  return listOf(settlements, ({ fence, settlement }) => {
    const { status, attempts, delayMs, dueAt, error, completes } = columnsOf(settlement);
    return [
      ...partsOf(fence),
      JSON.stringify(status),
      `${attempts}`,
      delayMs === null ? "null" : `${microseconds(delayMs)}`,
      `${dueAt}`,
      JSON.stringify(error),
      completes ? "1" : "0",
    ];
  });
}

/** Of `renew`. */
export function renewalsText(renewals: readonly Renewal[]): string {
  return listOf(renewals, ({ fence, leaseMs, parked }) => [
    ...partsOf(fence),
    `${microseconds(leaseMs)}`,
    parked ? "1" : "0",
  ]);
}

/** Ids of deliveries as numbers, whatever their size; what is no id names no row and is left out. */
export function idsText(ids: readonly string[]): string {
  return `[${ids.filter(isDeliveryId).map(integer).join(",")}]`;
}

/** A duration in the unit of the columns. */
export function microseconds(ms: number): bigint {
  return BigInt(Math.round(ms * 1000));
}

function partsOf({ id, claimedAt, claimedBy }: Fence): string[] {
  return [integer(id), `${claimedAt}`, JSON.stringify(claimedBy)];
}

/** Digits as they are: through a JavaScript number an id above 2^53 would be rounded. */
function integer(id: string): string {
  return BigInt(id).toString();
}

function listOf<T>(items: readonly T[], parts: (item: T) => readonly string[]): string {
  return `[${items.map((item) => `[${parts(item).join(",")}]`).join(",")}]`;
}

/** Hexadecimal; empty for a receiver that does not fan out. SQLite has no SHA-256 of its own. */
function digestOf(target: string): string {
  return target === "" ? "" : createHash("sha256").update(target).digest("hex");
}
