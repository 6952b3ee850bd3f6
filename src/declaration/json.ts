/** Any JSON value. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/**
 * A payload's type with everything that JSON cannot carry turned into `never`, so that a `Date` or a `Map` in a
 * payload fails to compile where it is fired.
 */
export type JsonOf<T> = unknown extends T ? T
  // What is JSON already ends the recursion: `Json` itself would never end.
  : [T] extends [Json] ? T
  : T extends string | number | boolean | null | undefined ? T
  : T extends
    bigint | symbol | ((...args: never[]) => unknown) | Date | Map<never, never> | Set<never> | ArrayBufferView ? never
  : { readonly [K in keyof T]: JsonOf<T[K]> };
