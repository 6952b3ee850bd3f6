/** Gives the quoted name of a table or index; the one place where an identifier enters SQL text. */
export type Names = (name: string) => string;

const ALLOWED = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

/**
 * The names of the tables under a prefix.
 *
 * @throws {TypeError} when the prefix holds anything but letters, digits and underscores, or starts with `sqlite_`
 */
export function namesOf(prefix: string): Names {
  if (typeof prefix !== "string" || !ALLOWED.test(prefix) || /^sqlite_/i.test(prefix)) {
    throw new TypeError(
      `Cannot use the prefix ${JSON.stringify(prefix)}: it must be 1 to 40 letters, digits and underscores, ` +
        `not start with a digit, and not with "sqlite_"`,
    );
  }
  return (name) => `"${prefix}${name}"`;
}
