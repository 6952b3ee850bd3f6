import type { Figures, Question, Target } from "./question.ts";
import { median } from "./statistics.ts";

/** One figure of one contestant over all rounds. */
export interface Result {
  readonly question: string;
  readonly n: number;
  readonly contestant: string;
  readonly figure: string;
  readonly values: readonly number[];
  readonly median: number;
  readonly lowest: number;
  readonly highest: number;
  /** Median over the rounds of this contestant's figure by the first one's; undefined for the first. */
  readonly ratio: number | undefined;
  readonly target: string | undefined;
  readonly met: boolean | undefined;
}

/** Asks a question: the contestants take turns, so that a noisy minute hits all of them. */
export async function ask(
  question: Question,
  rounds: number,
  n: number,
  progress: (line: string) => void,
): Promise<Result[]> {
  const runs = question.contestants.map((): Figures[] => []);
  for (let round = 1; round <= rounds; round++) {
    for (const [i, contestant] of question.contestants.entries()) {
      progress(`${question.name}: round ${round} of ${rounds}, ${contestant.name}`);
      runs[i]!.push(await contestant.run(n));
    }
  }
  return question.contestants.flatMap(({ name }, i) =>
    Object.keys(runs[i]![0]!).map((figure) => {
      const values = runs[i]!.map((run) => run[figure]!);
      const base = runs[0]!.map((run) => run[figure]);
      const ratios = values.flatMap((value, round) => base[round] ? [value / base[round]] : []);
      const ratio = i === 0 || ratios.length === 0 ? undefined : median(ratios);
      const target = question.targets?.find((each) => each.contestant === name && each.figure === figure);
      return {
        question: question.name,
        n,
        contestant: name,
        figure,
        values,
        median: median(values),
        lowest: Math.min(...values),
        highest: Math.max(...values),
        ratio,
        ...judged(target, target?.of === "ratio" ? ratio : median(values)),
      };
    })
  );
}

function judged(target: Target | undefined, value: number | undefined): Pick<Result, "target" | "met"> {
  if (target === undefined || value === undefined) return { target: undefined, met: undefined };
  const { atLeast, below } = target;
  const what = target.of === "ratio" ? "x" : "";
  if (atLeast !== undefined) return { target: `>= ${atLeast}${what}`, met: value >= atLeast };
  if (below !== undefined) return { target: `< ${below}${what}`, met: value < below };
  return { target: undefined, met: undefined };
}
