import { startProcess } from "../support/processes.ts";

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface CommandOptions {
  env?: Record<string, string>;
  cwd?: string;
}

/** Runs the command to its end. The environment holds no `DATABASE_URL` but the given one. */
export async function relay(args: readonly string[], { env = {}, cwd }: CommandOptions = {}): Promise<Ended> {
  await using command = startProcess(new URL("../../relay.ts", import.meta.url), {
    args: [...args],
    env: { DATABASE_URL: ":memory:", OWED_LOG: "off", ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  const { code } = await command.exited;
  return { code, stdout: command.stdout.join("\n"), stderr: command.stderr.join("\n") };
}

/** The path of an application in `apps/`. */
export function app(name: string): string {
  return new URL(`./apps/${name}.ts`, import.meta.url).pathname;
}
