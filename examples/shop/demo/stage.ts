/** What the chapters of the demo share: the shop and its database, and ways to look at them. */
import type { DeliveryRecord, Outbox } from "@owed/outbox";
import type { Order } from "../events.ts";
import type { DemoDatabase } from "./database.ts";

export interface Stage {
  readonly outbox: Outbox;
  readonly database: DemoDatabase;
}

export function order(orderId: string): Order {
  return { orderId, customer: "ada@example.com", sku: "lamp", quantity: 2, cents: 4900 };
}

export function events({ outbox }: Stage, name: string) {
  return outbox.storage.findEvents({ name });
}

/** All that is or was owed for an event. */
export function debtsOf({ outbox }: Stage, eventId: string | null): Promise<DeliveryRecord[]> {
  return outbox.storage.findDeliveries({ eventId: String(eventId) });
}

/** The same by whom it is owed to, for receivers that do not fan out. */
export async function debts(stage: Stage, eventId: string | null) {
  const rows = await debtsOf(stage, eventId);
  const to = (key: string): DeliveryRecord | undefined => rows.find(({ receiverKey }) => receiverKey === key);
  return {
    stock: to("stock.reserve"),
    receipt: to("receipts.email"),
    credit: to("orders.credit"),
    offer: to("offers.mail"),
    expiry: to("offers.expire"),
    audit: to("audit.trail"),
  };
}

/** What is owed to the partners for an order, by the partner. */
export async function partnersOf(stage: Stage, eventId: string | null): Promise<Map<string, DeliveryRecord>> {
  const rows = await debtsOf(stage, eventId);
  return new Map(
    rows.filter(({ receiverKey }) => receiverKey === "partners.notify").map((row) => [row.target, row]),
  );
}

export async function count({ database: { sql } }: Stage, table: "orders" | "reservations"): Promise<number> {
  const rows = table === "orders" ? await sql`select 1 from orders` : await sql`select 1 from reservations`;
  return rows.length;
}

export async function lampsLeft({ database: { sql } }: Stage): Promise<unknown> {
  const [row] = await sql`select on_hand from stock where sku = 'lamp'`;
  return row?.on_hand;
}

export function equal(some: unknown, others: unknown): boolean {
  const text = (value: unknown) => JSON.stringify(value, (_, one) => typeof one === "bigint" ? String(one) : one);
  return text(some) === text(others);
}

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/**
 * A moment that many milliseconds after one that a row has, for calls that take `now`: the demo does not wait two days.
 * Rows have microseconds, so it is rounded up.
 */
export function after(instant: bigint, ms = 0): Date {
  return new Date(Number(instant / 1000n) + 1 + ms);
}

/** The milliseconds from such a moment to one that a row has. */
export function wait(from: Date, to: bigint | undefined): number {
  return Number(to! - BigInt(from.getTime()) * 1000n) / 1000;
}

/** Looks again and again; false when it has not come true within half a minute. */
export async function until(isTrue: () => boolean | Promise<boolean>): Promise<boolean> {
  const giveUpAt = performance.now() + 30_000;
  while (performance.now() < giveUpAt) {
    if (await isTrue()) return true;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return false;
}
