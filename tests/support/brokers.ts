import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process, { env } from "node:process";
import { freePort } from "./free_port.ts";
import { waitFor } from "./wait_for.ts";

/** A broker, by the variable that names a running one. */
export type Broker = keyof typeof brokers;

/** A broker to test on; disposing of it stops it if it was started here. */
export interface RunningBroker extends AsyncDisposable {
  readonly url: string;
}

interface Recipe {
  readonly name: string;
  /** Of Debian, Ubuntu and their kin. */
  readonly aptPackage: string;
  /** Where the package has it. A shell script of Debian's around RabbitMQ insists on its own user, so not that one. */
  readonly program: string;
  /** Shell that starts it, in the folder `$1`, on the ports from `$2` on. */
  readonly start: string;
  readonly ports: number;
  readonly url: (port: number) => string;
}

const brokers = {
  REDIS_URL: {
    name: "Redis",
    aptPackage: "redis-server",
    program: "/usr/bin/redis-server",
    start: `"$0" --bind 127.0.0.1 --port $2 --dir "$1" --save "" --appendonly no --maxmemory-policy noeviction &`,
    ports: 1,
    url: (port) => `redis://127.0.0.1:${port}`,
  },
  // A name server of its own too, which would otherwise be started for everybody and stay.
  AMQP_URL: {
    name: "RabbitMQ",
    aptPackage: "rabbitmq-server",
    program: "/usr/lib/rabbitmq/bin/rabbitmq-server",
    start: `
export HOME="$1" ERL_EPMD_PORT=$4 RABBITMQ_NODENAME="owed$2@localhost" RABBITMQ_DIST_PORT=$3 \\
  RABBITMQ_MNESIA_BASE="$1/data" RABBITMQ_LOG_BASE="$1/logs" RABBITMQ_CONF_ENV_FILE=/dev/null \\
  RABBITMQ_CONFIG_FILE="$1/rabbitmq.conf" RABBITMQ_ENABLED_PLUGINS_FILE="$1/enabled_plugins" \\
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS="-kernel inet_dist_use_interface {127,0,0,1}"
echo "listeners.tcp.1 = 127.0.0.1:$2" >"$1/rabbitmq.conf"
echo "[]." >"$1/enabled_plugins"
epmd -address 127.0.0.1 -port $4 & names=$!
"$0" &`,
    ports: 3,
    url: (port) => `amqp://guest:guest@127.0.0.1:${port}`,
  },
} as const satisfies Record<string, Recipe>;

/** The variables by which running brokers are named, and under which the tests find theirs. */
export const brokerVariables = Object.keys(brokers) as Broker[];

/** The broker to test on: the tasks start it. */
export function brokerUrl(variable: Broker): string {
  const url = env[variable];
  if (url) return url;
  throw new Error(
    `${variable} must be set, and the task sets it: run \`deno task test:brokers\`, which starts ` +
      `${brokers[variable].name} unless the variable names one that runs`,
  );
}

// Held as the Postgres servers are: when whoever started it ends, in whatever way, the pipe closes and it is stopped.
const holder = (start: string): string => `
names=
${start}
broker=$!
while read -r _; do :; done
kill $broker; wait $broker
[ -z "$names" ] || { kill $names; wait $names; }
rm -rf "$1"
`;

/** Uses the one that runs, or starts a private one, which is installed if it is missing. */
export async function openBroker(variable: Broker): Promise<RunningBroker> {
  const given = env[variable];
  if (given) {
    await answers(given).catch((cause) => {
      throw new Error(`Cannot use ${variable} (${given.replace(/\/\/.*@/, "//")}): ${cause.message}`);
    });
    return { url: given, [Symbol.asyncDispose]: () => Promise.resolve() };
  }
  return await startBroker(brokers[variable], variable);
}

async function startBroker(recipe: Recipe, variable: Broker): Promise<RunningBroker> {
  const { name, program, start, ports: count, url: urlOf } = recipe;
  if (!existsSync(program)) install(recipe, variable);
  const user = otherUser();
  const folder = mkdtempSync(join(tmpdir(), `owed-${name.toLowerCase()}-`));
  if (user) execFileSync("chown", [`${user.uid}:${user.gid}`, folder]);
  const ports = await Promise.all(Array.from({ length: count }, () => freePort()));
  const script = `exec >"$1/output" 2>&1\n${holder(start)}`;
  const shell = spawn("/bin/sh", ["-c", script, program, folder, ...ports.map(String)], {
    ...user,
    cwd: folder,
    detached: true,
    env: { PATH: env.PATH ?? "", LC_ALL: "C" },
    stdio: ["pipe", "ignore", "ignore"],
  });
  const exited = once(shell, "exit");
  const url = urlOf(ports[0]!);
  const remove = async () => {
    shell.stdin.end();
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  const ready = () => answers(url).then(() => true, () => false);
  try {
    await waitFor(ready, { what: `${name} to start`, timeoutMs: 90_000, everyMs: 100 });
  } catch {
    const output = readText(join(folder, "output"));
    await remove();
    throw new Error(`Cannot start ${name} from ${program}; set ${variable} to one that runs. It wrote:\n${output}`);
  }
  return { url, [Symbol.asyncDispose]: remove };
}

/** Resolves once the broker speaks its protocol at that address. */
async function answers(url: string): Promise<void> {
  const { protocol, hostname, port } = new URL(url);
  const amqp = protocol.startsWith("amqp");
  const socket = connect(Number(port || (amqp ? 5672 : 6379)), hostname);
  try {
    socket.setTimeout(5000, () => socket.destroy(new Error("it does not answer")));
    socket.write(amqp ? new Uint8Array([65, 77, 81, 80, 0, 0, 9, 1]) : "PING\r\n");
    const [heard] = await Promise.race([once(socket, "data"), once(socket, "close")]);
    if (typeof heard !== "object") throw new Error("it hangs up");
  } finally {
    socket.destroy();
  }
}

function install({ name, aptPackage, program }: Recipe, variable: Broker): void {
  const hint = `set ${variable} to one that runs, or install the package ${aptPackage}`;
  if (!existsSync("/usr/bin/apt-get")) throw new Error(`Cannot find ${name} at ${program}: ${hint}`);
  console.log(`Installing ${aptPackage}`);
  const sudo = process.getuid?.() === 0 ? [] : ["sudo", "-n"];
  // The service that the package brings is not to be started: the tests have servers of their own.
  const [command, ...before] = [...sudo, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "-qq"];
  try {
    execFileSync(command!, [...before, "update"], { stdio: ["ignore", "ignore", "inherit"] });
    const options = ["install", "-y", "--no-install-recommends", aptPackage];
    execFileSync(command!, [...before, ...options], { stdio: ["ignore", "ignore", "inherit"] });
  } catch (cause) {
    throw new Error(`Cannot install ${name}: ${hint}`, { cause });
  }
  if (!existsSync(program)) {
    throw new Error(`Cannot find ${name} at ${program}, though ${aptPackage} is installed: ${hint}`);
  }
}

// Neither needs to be root, and RabbitMQ would leave a cookie in root's home.
function otherUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
