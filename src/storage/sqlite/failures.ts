import { DatabaseUnreachable, MigrationsMissing } from "../../errors.ts";
import type { Migration } from "../storage.ts";
import { DatabaseUnavailable } from "../unavailable.ts";

/** What is known of the database when an error has to be explained. */
export interface Explaining {
  /** "write to", "read", ... */
  readonly what: string;
  readonly address: string;
  readonly storage: string;
  readonly prefix: string;
  readonly migrations: readonly Migration[];
}

/** The driver's code of an error, of the statement that failed in a batch too. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : "";
}

/** Whether somebody else has the lock, so that the same thing may work in a moment. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  return code === "SQLITE_BUSY" || code === "SQLITE_LOCKED" || code === "TRANSACTION_ACTIVE" ||
    code === "CLIENT_CLOSED" && /in flight/.test(messageOf(error));
}

/** Whether all connections of the client are with open transactions. */
export function hasNoConnection(error: unknown): boolean {
  return codeOf(error) === "TRANSACTION_ACTIVE";
}

/** Whether the transaction itself was refused at commit, with its work still in it. */
export function isConstraint(error: unknown): boolean {
  return codeOf(error) === "SQLITE_CONSTRAINT";
}

/** Of sockets on either runtime, and of a file that cannot be opened. */
const UNREACHABLE =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|EHOSTUNREACH|ConnectionRefused|fetch failed|error sending request|Unable to connect|socket connection was closed|ConnectionFailed|HRANA_WEBSOCKET_ERROR|HRANA_CLOSED_ERROR/;

/** The error that says what to do, where there is one; else the error itself. */
export function explained(error: unknown, { what, address, storage, prefix, migrations }: Explaining): unknown {
  const code = codeOf(error);
  const message = messageOf(error);
  switch (code) {
    case "SQLITE_FULL":
      return new Error(
        `Cannot ${what} the database at ${address}: it is full (the disk, or its max_page_count); ` +
          `make room or raise the limit, nothing was lost`,
        { cause: error },
      );
    case "SQLITE_READONLY":
      return new Error(
        `Cannot ${what} the database at ${address}: it is read-only; ` +
          `let this process write to the file and its directory, nothing was lost`,
        { cause: error },
      );
    case "SQLITE_NOTADB":
    case "SQLITE_CORRUPT":
      return new Error(
        `Cannot ${what} the database at ${address}: the file is no SQLite database or is damaged; check the path`,
        { cause: error },
      );
    case "SQLITE_CANTOPEN":
    case "SQLITE_IOERR":
      return new DatabaseUnreachable(`${what} the database`, address, error);
  }
  if (message.includes(`no such table: ${prefix}`)) {
    const missing = new MigrationsMissing(storage, migrations);
    missing.cause = error;
    return missing;
  }
  if (UNREACHABLE.test(`${code} ${message} ${codeOf((error as { cause?: unknown } | null)?.cause)}`)) {
    return new DatabaseUnreachable(`${what} the database`, address, error);
  }
  return error;
}

/** Thrown when the lock could not be had for too long. */
export function stayedBusy(what: string, address: string, waitedMs: number, cause: unknown): Error {
  return new DatabaseUnavailable(
    `Cannot ${what} the database at ${address}: somebody else has held its lock for ${
      Math.round(waitedMs / 1000)
    } s; ` +
      `look for a transaction that is left open, in another process or on this client outside outbox.joining()`,
    address,
    cause,
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "";
}
