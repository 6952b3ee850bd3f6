import type { Transaction } from "@libsql/client";

/** Runs one statement; what stands in `${}` becomes a parameter. The same as the `sql` of postgres.js. */
export type Sql = (text: TemplateStringsArray, ...values: (string | number | null)[]) => PromiseLike<Row[]>;

type Row = Readonly<Record<string, unknown>>;

/**
 * The driver's own transaction as one `sql`, because this shop runs on either database. On postgres.js it is just
 * `tx.client`; a shop with one database needs nothing like this.
 */
export function sqlIn({ client }: { readonly client: unknown }): Sql {
  if (typeof client === "function") return client as Sql;
  const libsql = client as Transaction;
  return async (text, ...args) => (await libsql.execute({ sql: text.join("?"), args })).rows;
}
