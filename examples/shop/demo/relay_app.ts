/** What the relays of the demo are given: an outbox that is bound to its storage. */
import process from "node:process";
import { openStorage } from "./database.ts";
import { demoShop } from "./shop.ts";

export const outbox = demoShop(await openStorage(process.env));
