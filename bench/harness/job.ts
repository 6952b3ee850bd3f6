/** The payload that everything here carries: about a hundred bytes of JSON. */
export interface Job {
  readonly id: number;
  readonly kind: string;
  readonly note: string;
}

/** A job with this number. */
export function jobOf(id: number): Job {
  return { id, kind: "order.placed", note: "x".repeat(64) };
}
