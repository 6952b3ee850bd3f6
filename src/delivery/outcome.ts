/**
 * How an attempt ended, before it is decided what becomes of the row. `lost` records nothing: somebody else holds the
 * row and will report its own outcome. `unrecorded` records nothing either: the connection that carried the work is
 * gone or silent, and whether the work was kept cannot be told. `undeclaredEvent` and `newerVersion` are another
 * release's to run; this process has kept meeting such a row for so long. `handedOver` is the task's to record.
 * `notOpened` is a receiver whose transaction could not be opened because the database did not answer.
 */
export type Outcome =
  | { readonly kind: "succeeded" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "undecodable"; readonly error: unknown }
  | { readonly kind: "unknownReceiver" }
  | { readonly kind: "undeclaredEvent"; readonly metForMs: number }
  | { readonly kind: "newerVersion"; readonly metForMs: number }
  | { readonly kind: "lapsedTooOften" }
  | { readonly kind: "handedOver" }
  | { readonly kind: "notHandedOver" }
  | { readonly kind: "notOpened" }
  | { readonly kind: "released" }
  | { readonly kind: "lost" }
  | { readonly kind: "unrecorded"; readonly error: unknown };
