import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { installTools } from "../../tools/install.ts";
import { seedOwed } from "../contestants/owed.ts";
import { rawLibsql } from "../contestants/raw_libsql.ts";
import { rawPostgres } from "../contestants/raw_postgres.ts";
import type { OpenPlace, Places } from "../harness/places.ts";
import type { Contestant, Figures, Question } from "../harness/question.ts";

const child = fileURLToPath(new URL("../drain_child.ts", import.meta.url));

/** What a process that does nothing but relay grows to, under either runtime. */
export function memories(places: Places): Question[] {
  return (["postgres", "libsql"] as const).flatMap((backend) =>
    (["deno", "bun"] as const).map((runtime): Question => {
      const open = () => places[backend]();
      return {
        name: `memory-${runtime}/${backend}`,
        about: `highest resident size of a ${runtime} process that drains; megabytes`,
        n: 100_000,
        contestants: [growing("raw", open, runtime), growing("owed", open, runtime)],
        targets: [{ contestant: "owed", figure: "peak MB", of: "figure", below: 200 }],
      };
    })
  );
}

function growing(contestant: "raw" | "owed", open: OpenPlace, runtime: "deno" | "bun"): Contestant {
  return {
    name: contestant,
    async run(n) {
      await using place = await open();
      if (contestant === "owed") await seedOwed(place.url, n);
      else {
        await using raw = place.url.startsWith("postgres:") ? rawPostgres(place.url) : rawLibsql(place.url);
        await raw.create();
        await raw.seed(n);
      }
      await place.settle();
      return await runChild(runtime, [contestant, place.url, `${n}`]);
    },
  };
}

async function runChild(runtime: "deno" | "bun", args: readonly string[]): Promise<Figures> {
  const command = commandOf(runtime);
  const before = runtime === "deno" ? ["run", "-A", "--no-check", "--quiet"] : ["run"];
  const running = spawn(command, [...before, child, ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  running.stdout.on("data", (text) => output += text);
  const [code] = await once(running, "close");
  if (code !== 0) throw new Error(`The ${runtime} process ended with ${code}: ${output}`);
  return JSON.parse(output.trim().split("\n").at(-1)!);
}

/** The one that runs this, and of the other the one in `tools/`. */
function commandOf(runtime: "deno" | "bun"): string {
  if (runtime === (process.versions.bun ? "bun" : "deno")) return process.execPath;
  installTools();
  return fileURLToPath(new URL(`../../tools/node_modules/.bin/${runtime}`, import.meta.url));
}
