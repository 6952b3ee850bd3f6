import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A port on 127.0.0.1 that nothing listens on. It is taken from below the range that the system hands out for outgoing
 * connections: a client that reconnects to a stopped server in that range can connect to itself, or have its port taken.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 50; attempt++) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const server = createServer();
    try {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
      return port;
    } catch {
      continue;
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  }
  throw new Error("Cannot find a free port between 20000 and 32000 on 127.0.0.1");
}
