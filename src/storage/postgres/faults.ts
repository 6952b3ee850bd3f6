/** What a driver's error means. Codes alone are read: texts vary with the server's language and the runtime. */

/** Codes of sockets and drivers when there is no connection, or none any more. */
const LOST: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ENETUNREACH",
  "EHOSTUNREACH",
  "ETIMEDOUT",
  "EPIPE",
  "ENOENT",
  "EPERM",
  "CONNECTION_CLOSED",
  "CONNECTION_DESTROYED",
  "CONNECTION_ENDED",
  "CONNECT_TIMEOUT",
  // The server ends sessions, or is starting or stopping.
  "57P01",
  "57P02",
  "57P03",
  "57P05",
  // No room for another session.
  "53300",
  "25P03",
]);

/** `pg` gives these no code. */
const LOST_TEXTS =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|Client was closed|Cannot use a pool after|The server did not answer)/;

/** The SQLSTATE or the driver's code of an error; "" when it has none. */
export function codeOf(error: unknown): string {
  const code = (error as { readonly code?: unknown } | null | undefined)?.code;
  return typeof code === "string" ? code : "";
}

/** Whether the connection is gone, so that nobody knows what became of the statement. */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isConnectionLoss);
  const code = codeOf(error);
  if (code !== "") return LOST.has(code) || code.startsWith("08") || code.startsWith("28") || code === "3D000";
  return error instanceof Error && LOST_TEXTS.test(error.message);
}

/** Whether the server refused the statement itself, so that a part of it may pass alone. */
export function isRefusal(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error)) && !isConnectionLoss(error);
}

/**
 * Whether the server refused to begin what it would do at another moment: it is a standby now (25006), out of memory,
 * disk or sessions (53...), or somebody has held the row for too long (55P03, 57014).
 */
export function isPassing(error: unknown): boolean {
  const code = codeOf(error);
  return code === "25006" || code.startsWith("53") || code === "55P03" || code === "57014";
}

/** Whether the server's encoding has no room for a character. */
export function isUnstorable(error: unknown): boolean {
  const code = codeOf(error);
  return code === "22P05" || code === "22021";
}

/** Whether a table, a column or the schema itself is missing. */
export function isMissingSchema(error: unknown): boolean {
  const code = codeOf(error);
  return code === "42P01" || code === "3F000" || code === "42703";
}

/** Whether the transaction was broken by an earlier statement. */
export function isAborted(error: unknown): boolean {
  return codeOf(error) === "25P02";
}

/** Thrown when a transaction could not be committed because a statement in it had failed and the failure was swallowed. */
export class Uncommitted extends Error {
  override readonly name = "Uncommitted";

  /** Built by the library. */
  constructor() {
    super("Cannot commit the transaction: a statement in it had failed, so the server rolled everything back");
  }
}
