/** How long a receiver goes on trying, added up from the library's own curve. */
import { backoffMs, type Curve } from "../../../src/delivery/backoff.ts";
import { resolveSettings } from "../../../src/declaration/settings.ts";

/** The curve of a receiver that declares none, in an outbox without settings. */
export const defaultCurve: Curve = (({ backoffBaseMs: baseMs, backoffCapMs: capMs }) => ({ baseMs, capMs }))(
  resolveSettings({}),
);

/** What the waits of so many attempts come to when each is drawn at that part of its window: 1 is the longest, 0.5 the mean. */
export function waitsMs(curve: Curve, attempts: number, drawn: number): number {
  let sum = 0;
  for (let attempt = 1; attempt < attempts; attempt++) sum += backoffMs(curve, attempt, drawn);
  return sum;
}
