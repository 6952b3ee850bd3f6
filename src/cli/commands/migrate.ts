import { object } from "@optique/core/constructs";
import { message } from "@optique/core/message";
import type { InferValue } from "@optique/core/parser";
import { command, constant, option } from "@optique/core/primitives";
import { exampleFooter } from "../examples.ts";
import { openApp } from "../open_app.ts";
import { give } from "../output.ts";
import { appArgument } from "../values.ts";

/** `relay migrate [APP]`. */
export const migrateParser = command(
  "migrate",
  object({
    command: constant("migrate"),
    app: appArgument(),
    print: option("--print", {
      description: message`Print the SQL of all migrations for a database administrator; connect to nothing.`,
    }),
  }),
  {
    brief: message`Apply the migrations that the database lacks.`,
    description: message`Applies the migrations that the database lacks, under a lock: many may run at once. \
Run it before the relay and the application of a new release start; neither migrates a database that you configured.`,
    footer: exampleFooter(
      ["relay migrate ./shop/outbox.ts", "before a release"],
      ["relay migrate ./shop/outbox.ts --print > owed.sql", "for somebody who may change the schema"],
    ),
  },
);

/** What {@linkcode migrateParser} read. */
export type MigrateArguments = InferValue<typeof migrateParser>;

/** Applies what is missing and names it, or prints all of it. */
export async function migrate({ app, print }: MigrateArguments): Promise<void> {
  const { outbox } = await openApp(app);
  const { storage } = outbox;
  try {
    if (print) return await give(storage.migrationScript());
    const applied = await storage.migrate();
    await give(applied.map(({ version, name }) => `Applied migration ${version} ${name}.`).join("\n") || UP_TO_DATE);
  } finally {
    await outbox.close();
  }
}

const UP_TO_DATE = "Nothing to apply: the database has every migration.";
