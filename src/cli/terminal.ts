import process from "node:process";

type Stream = { readonly isTTY?: boolean; readonly columns?: number };

/** Whether somebody reads the stream on a terminal. */
export function isTerminal(stream: Stream): boolean {
  return stream.isTTY === true;
}

/** Whether to write colours: on a terminal, unless NO_COLOR is set to anything. */
export function hasColors(stream: Stream): boolean {
  return isTerminal(stream) && !process.env.NO_COLOR;
}

/** How many characters a line of the terminal holds, if that is known. */
export function widthOf(stream: Stream): number | undefined {
  return isTerminal(stream) && (stream.columns ?? 0) > 20 ? stream.columns : undefined;
}
