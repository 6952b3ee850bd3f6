import { object } from "@optique/core/constructs";
import { message } from "@optique/core/message";
import type { InferValue } from "@optique/core/parser";
import { command, constant, option } from "@optique/core/primitives";
import process from "node:process";
import { type OutboxHealth, outboxHealth, type ReceiverHealth } from "../../operations/health.ts";
import { exampleFooter } from "../examples.ts";
import { openApp, requireMigrated } from "../open_app.ts";
import { ageOf, give, tableOf } from "../output.ts";
import { isTerminal } from "../terminal.ts";
import { appArgument } from "../values.ts";

/** `relay status [APP]`. */
export const statusParser = command(
  "status",
  object({
    command: constant("status"),
    app: appArgument(),
    json: option("--json", { description: message`Print JSON on a terminal too.` }),
  }),
  {
    brief: message`Show what is owed, running, dead and orphaned, by receiver.`,
    description: message`Shows the outbox as the database has it: owed (due or running), scheduled for later, claimed \
(running under a live lease), lapsed (a worker died, or outlives its lease), dead (out of attempts), orphaned (nobody \
lists the receiver), and the age of the oldest delivery that is owed. A table on a terminal, JSON elsewhere.`,
    footer: exampleFooter(
      ["relay status ./shop/outbox.ts", "a table"],
      ["relay status ./shop/outbox.ts | jq .oldestOwedAgeSeconds", "a number to alert on"],
    ),
  },
);

/** What {@linkcode statusParser} read. */
export type StatusArguments = InferValue<typeof statusParser>;

/** Prints the health of the outbox. */
export async function status({ app: name, json }: StatusArguments): Promise<void> {
  const app = await openApp(name);
  try {
    await requireMigrated(app);
    const health = await outboxHealth(app.outbox);
    const now = Date.now();
    await give(
      json || !isTerminal(process.stdout) ? JSON.stringify(documentOf(health, now), null, 2) : textOf(health, now),
    );
  } finally {
    await app.outbox.close();
  }
}

const COUNTS = ["owed", "scheduled", "claimed", "lapsed", "dead", "orphaned"] as const;

function documentOf({ receivers, ...all }: OutboxHealth, now: number): object {
  const withAge = (health: Omit<ReceiverHealth, "key">) => ({ ...health, oldestOwedAgeSeconds: ageIn(health, now) });
  return { ...withAge(all), receivers: receivers.map((one) => ({ ...one, ...withAge(one) })) };
}

/** The health as a table. */
export function textOf({ receivers, ...all }: OutboxHealth, now: number): string {
  if (receivers.length === 0) return "Nothing owed.";
  const row = (name: string, health: Omit<ReceiverHealth, "key">) => {
    const age = ageIn(health, now);
    return [name, ...COUNTS.map((count) => String(health[count])), age === null ? "-" : ageOf(age)];
  };
  return tableOf(["receiver", ...COUNTS, "oldest"], [
    ...receivers.map((one) => row(one.key, one)),
    ...(receivers.length > 1 ? [row("all", all)] : []),
  ]);
}

function ageIn({ oldestOwedSince }: Omit<ReceiverHealth, "key">, now: number): number | null {
  return oldestOwedSince === null ? null : Math.max(0, Math.round((now - oldestOwedSince.getTime()) / 1000));
}
