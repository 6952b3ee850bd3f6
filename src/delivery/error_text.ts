const MAX_LENGTH = 2000;
const MAX_CLASS_LENGTH = 200;

/** The class of whatever was thrown, for a log line. */
export function errorClass(error: unknown): string {
  try {
    if (!(error instanceof Error)) return error === null ? "null" : typeof error;
    // Either may be anything at all.
    const names: unknown[] = [error.name, error.constructor.name];
    const name = names.find((name) => typeof name === "string" && name !== "") ?? "Error";
    return (name as string).slice(0, MAX_CLASS_LENGTH);
  } catch {
    return "unknown";
  }
}

/**
 * What `last_error` holds: `Type: message`, at most 2000 characters, of whatever was thrown. Safe to store: no NUL and
 * no lone surrogate, which Postgres would refuse, and reading a hostile object cannot throw.
 */
export function errorText(error: unknown, receiverKey: string): string {
  let text: string;
  try {
    text = error instanceof Error ? `${errorClass(error)}: ${error.message}` : `${errorClass(error)}: ${String(error)}`;
    // An abort names whoever aborted, never the receiver that gave up on it.
    if (errorClass(error) === "AbortError") text = `Receiver "${receiverKey}" was aborted before it finished: ${text}`;
  } catch {
    text = `${errorClass(error)}: (its text cannot be read)`;
  }
  return storable(text.replaceAll("\0", "\ufffd"));
}

/** A text of the library's around an error's text, as long as `last_error` may be. */
export function storable(text: string): string {
  // Cut first: the cut may halve a surrogate pair.
  return text.slice(0, MAX_LENGTH).toWellFormed();
}
