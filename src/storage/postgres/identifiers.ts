import { createHash } from "node:crypto";

/** The longest name that Postgres keeps; it cuts the rest without a word. */
const LONGEST = 63;

/**
 * The name of the schema, checked once.
 *
 * @throws {TypeError} when Postgres could not keep it as it is.
 */
export function checkedSchema(schema: unknown): string {
  if (typeof schema !== "string") throw new TypeError(`Cannot use schema ${String(schema)}: expected a string`);
  if (schema === "") throw new TypeError(`Cannot use schema "": expected a name`);
  if (schema.includes("\0")) throw new TypeError(`Cannot use schema ${JSON.stringify(schema)}: it holds a NUL`);
  if (!schema.isWellFormed()) throw new TypeError(`Cannot use schema ${JSON.stringify(schema)}: it is not well formed`);
  const bytes = new TextEncoder().encode(schema).length;
  if (bytes > LONGEST) {
    throw new TypeError(`Cannot use schema "${schema}": ${bytes} bytes long, and Postgres keeps ${LONGEST}`);
  }
  if (schema.startsWith("pg_")) {
    throw new TypeError(`Cannot use schema "${schema}": names that begin with pg_ belong to Postgres`);
  }
  return schema;
}

/** The only place where a name becomes SQL. */
export function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** The notification channel of a schema. */
export function channelOf(schema: string): string {
  const channel = `owed:${schema}`;
  return new TextEncoder().encode(channel).length <= LONGEST ? channel : `owed:${digest(schema).slice(0, 32)}`;
}

/** The key of the advisory lock under which a schema is migrated, as a signed 64-bit number in text. */
export function lockOf(schema: string): string {
  return BigInt.asIntN(64, BigInt(`0x${digest(`owed migrations of ${schema}`).slice(0, 16)}`)).toString();
}

/** SHA-256 as hexadecimal text. */
export function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
