/** Named figures of one run: `{ "per second": 41000 }`. */
export type Figures = Readonly<Record<string, number>>;

/** Somebody who can do what a question asks. */
export interface Contestant {
  readonly name: string;
  /** Does it once, in a database of its own, and throws unless every row came out right. */
  run(n: number): Promise<Figures>;
}

/** What a figure of `owed` has to reach. */
export interface Target {
  readonly contestant: string;
  readonly figure: string;
  /** Of the ratio to the first contestant, or of the figure itself. */
  readonly of: "ratio" | "figure";
  readonly atLeast?: number;
  readonly below?: number;
}

/** One thing to be measured: the first contestant is what the others are divided by. */
export interface Question {
  /** Such as `drain/postgres`; `--only` looks for its text in here. */
  readonly name: string;
  readonly about: string;
  readonly n: number;
  readonly contestants: readonly Contestant[];
  readonly targets?: readonly Target[];
}

/** Throws when a run's own check failed: a figure of a wrong result is worth nothing. */
export function check(ok: boolean, what: string): void {
  if (!ok) throw new Error(`The result is wrong: ${what}`);
}
