import type { Job } from "../harness/job.ts";

/** No library: the least SQL that a durable queue can do, over one table. */
export interface Raw extends AsyncDisposable {
  create(): Promise<void>;
  seed(n: number): Promise<void>;
  /** Claims in batches until n are done, and acknowledges each batch at once. Seconds from the first handler on. */
  drain(n: number): Promise<number>;
  /** The same, where each job writes a row in one transaction with its own acknowledgement. */
  drainWriting(n: number): Promise<number>;
  /** Nothing is left and nothing was done twice. */
  check(n: number): Promise<void>;
}

/** Rows of one claim, as everywhere here. */
export const RAW_BATCH = 500;

/** What a raw loop does with its batches: the next claim is under way while a batch runs. */
export async function drainBatches<Row>(
  n: number,
  claim: () => Promise<readonly Row[]>,
  work: (rows: readonly Row[]) => Promise<void>,
): Promise<number> {
  let startedAt = 0;
  let next = claim();
  for (let done = 0; done < n;) {
    const rows = await next;
    if (rows.length === 0) throw new Error(`The raw contestant ran dry after ${done} of ${n}`);
    next = claim();
    startedAt ||= performance.now();
    await work(rows);
    done += rows.length;
  }
  await next;
  return (performance.now() - startedAt) / 1000;
}

/** A handler that does nothing, as a user would write it. */
export async function handle(_job: Job): Promise<void> {}
