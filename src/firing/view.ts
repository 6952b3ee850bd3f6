import { decodePayload, PayloadUndecodable } from "../declaration/codec.ts";
import type { AnyEventDefinition } from "../declaration/event.ts";
import { PayloadRefused } from "../errors.ts";

/**
 * A payload as a relay would see it, read by the relay's own decoder: what it could not decode must not get in, and
 * whoever looks at it while it is fired must see nothing else.
 *
 * @throws {PayloadRefused} when it does not fit the event's schema
 */
export async function viewOf(definition: AnyEventDefinition, payload: string): Promise<unknown> {
  try {
    return await decodePayload(definition, payload, definition.version);
  } catch (error) {
    if (!(error instanceof PayloadUndecodable)) throw error;
    throw new PayloadRefused(definition.name, error.path, error.reason);
  }
}
