import type { GuardState } from "../guard.ts";

/** What is known of the use of one handle: whether its time is over, and whether a statement has failed in it. */
export class Watch implements GuardState {
  readonly #outer: Watch | undefined;
  #refusal: string | null = null;
  #failure: { readonly cause: unknown } | undefined;

  /** `outer` is the scope around this one. */
  constructor(outer?: Watch) {
    this.#outer = outer;
  }

  get refusal(): string | null {
    return this.#refusal ?? this.#outer?.refusal ?? null;
  }

  /** The first statement that failed. */
  get failure(): { readonly cause: unknown } | undefined {
    return this.#failure;
  }

  /** From now on every use is refused. */
  refuse(why: string): void {
    this.#refusal ??= why;
  }

  failed(cause: unknown): void {
    this.#failure ??= { cause };
  }

  /** What was done here is part of the outer scope now, a failure that was swallowed included. */
  kept(): void {
    if (this.#failure) this.#outer?.failed(this.#failure.cause);
  }
}
