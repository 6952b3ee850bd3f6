import type { Outbox } from "@owed/outbox";
import { sqlIn } from "./sql.ts";

/** The shop's own tables, beside those of the outbox in the same database. */
export function createTables(outbox: Outbox): Promise<void> {
  return outbox.transaction(async (tx) => {
    const sql = sqlIn(tx);
    await sql`create table orders (
      order_id text primary key, customer text not null, cents integer not null, paid_cents integer not null default 0
    )`;
    await sql`create table stock (sku text primary key, on_hand integer not null)`;
    // Nothing is unique here: a reservation that was made twice would show.
    await sql`create table reservations (order_id text not null, sku text not null, quantity integer not null)`;
    await sql`create table audit_trail (
      event_id text not null, event_name text not null, actor text, caused_by text, correlation_id text,
      payload text not null
    )`;
    await sql`create table partners (url text primary key)`;
    await sql`create table offers (
      offer_id text primary key, expires_at text not null, state text not null default 'open'
    )`;
  });
}
