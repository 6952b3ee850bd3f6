/** Refuses an options object that is none, or that has a key which is not listed; `attempt` says what was attempted. */
export function refuseUnknown(options: unknown, allowed: readonly string[], attempt: string): void {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw new TypeError(`Cannot ${attempt}: options must be an object`);
  }
  for (const key of Object.keys(options)) {
    if (!allowed.includes(key)) {
      throw new TypeError(`Cannot ${attempt}: unknown option "${key}", allowed are ${allowed.join(", ")}`);
    }
  }
}

/**
 * Refuses a name that a row could not hold or a command line could not say: not a string, blank, over 255 characters,
 * with a control character or half a surrogate pair.
 */
export function requireName(name: unknown, attempt: string, which: string): asserts name is string {
  if (typeof name !== "string" || name.trim() === "") {
    throw new TypeError(
      `Cannot ${attempt}: ${which} must be a non-empty string, got ${
        typeof name === "string" ? "a blank one" : show(name)
      }`,
    );
  }
  // deno-lint-ignore no-control-regex -- control characters are what is refused
  if (name.length > 255 || /[\u0000-\u001f\u007f]/.test(name) || !name.isWellFormed()) {
    throw new TypeError(
      `Cannot ${attempt}: ${which} must have at most 255 characters, no control character and no lone surrogate`,
    );
  }
}

/** Refuses a value that is no whole number within the bounds. */
export function requireInteger(value: unknown, min: number, max: number, what: string): asserts value is number {
  if (typeof value !== "number" || !Number.isInteger(value) || value < min || value > max) {
    throw new RangeError(`Cannot use ${what}: expected a whole number from ${min} to ${max}, got ${show(value)}`);
  }
}

/** A setting's value for a message: numbers and booleans as they are, anything else by its type. */
export function show(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : value === null
    ? "null"
    : typeof value;
}
