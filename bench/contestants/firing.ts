import { check } from "../harness/question.ts";
import { openTables } from "../harness/tables.ts";

/** A way to write a business row and an event in one transaction. */
export interface Firing extends AsyncDisposable {
  fire(id: number): Promise<void>;
  /** Fires once and counts, on the client, the statements that the fire itself sent. */
  statements?(): Promise<number>;
  /** All of n transactions are there, each once. */
  check(n: number): Promise<void>;
}

/** Opens it for events with so many receivers. */
export type FireBy = (url: string, receivers: number, connections: number) => Promise<Firing>;

/** Every business row has its event, and every event its debts. */
export async function checkFired(url: string, n: number, receivers: number, prefix: string): Promise<void> {
  await using tables = openTables(url);
  const [rows, events, debts] = await tables.numbers(
    `select (select count(*) from biz), (select count(*) from ${prefix}events),
       (select count(*) from ${prefix}deliveries)`,
  );
  check(
    rows === n && events === n && debts === n * receivers,
    `${rows} rows, ${events} events, ${debts} debts of ${n}`,
  );
}
