import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A way to a server which can go silent: its connections stay open, and nothing passes on them any more. */
export interface SilentProxy extends AsyncDisposable {
  readonly url: string;
  /** Silences the connections that are open; later ones pass. */
  silence(): void;
}

export async function silentProxy(url: string): Promise<SilentProxy> {
  const target = new URL(url);
  const open: { readonly ends: readonly [Socket, Socket]; isSilent: boolean }[] = [];
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    const connection: typeof open[number] = { ends: [client, upstream], isSilent: false };
    open.push(connection);
    for (const [from, to] of [[client, upstream], [upstream, client]] as const) {
      from.on("data", (data) => void (connection.isSilent || to.write(data)));
      from.on("error", () => {});
      from.on("close", () => void (connection.isSilent || to.destroy()));
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = `${(server.address() as AddressInfo).port}`;
  return {
    url: through.href,
    silence: () => open.forEach((connection) => connection.isSilent = true),
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const { ends } of open) ends.forEach((end) => end.destroy());
      await Promise.resolve();
    },
  };
}
