import { receiver } from "@owed/outbox";
import { StockReserved } from "../events.ts";

/** What a relay says when it has reserved the stock and recorded nothing yet. */
export const IN_THE_MIDDLE = "in the middle of a reservation";

/** Inline, so it runs inside the transaction in which the stock is reserved, and keeps it open for ever. */
export const hang = receiver(StockReserved, "demo.hang", () => {
  console.log(IN_THE_MIDDLE);
  return new Promise(() => {});
}, { mode: "inline" });
