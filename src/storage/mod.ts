/** The types of the storage seam, for code that is typed by a {@linkcode Storage}. */
export type * from "./storage.ts";
export type * from "./records.ts";
export type * from "./settlement.ts";
export type * from "./states.ts";
