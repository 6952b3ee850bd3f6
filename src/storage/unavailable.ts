import { DatabaseUnreachable } from "../errors.ts";

/**
 * Thrown when the database answers and still cannot serve: it is locked for too long, read-only, or out of room. Whoever
 * tells the receiver's faults from the database's takes it for the outage that it is.
 */
export class DatabaseUnavailable extends DatabaseUnreachable {
  /** Built by the library. */
  constructor(message: string, address: string, cause: unknown) {
    super("", address, cause);
    this.message = message;
    // The text at its head is that of the class above.
    Error.captureStackTrace?.(this, DatabaseUnavailable);
  }
}
