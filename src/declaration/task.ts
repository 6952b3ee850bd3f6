/**
 * What is handed over for one delivery of `site: "task"`: its id and the claim that it is made under. JSON, so that any
 * queue can carry it.
 *
 * A worker refuses a message of another version. So when a release changes `v`, stop the relays, let the workers empty
 * the queue, and then deploy both; what was missed comes back by its lease, as a later delivery.
 */
export interface TaskMessage {
  /** The shape of this message. */
  readonly v: 1;
  /** The delivery's id. */
  readonly deliveryId: string;
  /** Who claimed it. */
  readonly claimedBy: string;
  /** The claim's moment, in microseconds since the epoch, as a string of digits. */
  readonly claimedAt: string;
}

/**
 * A queue that deliveries of `site: "task"` are handed over to. The relay waits for `enqueue`, but no longer than the
 * receiver's lease, and not any more once a worker has taken the delivery.
 */
export interface TaskBackend {
  /**
   * Puts the message on the queue. Resolving means that the queue has it; it may deliver it twice or late.
   *
   * @throws when the queue does not take it: the delivery is given back and handed over again later
   */
  enqueue(message: TaskMessage, options: { readonly signal: AbortSignal }): Promise<void>;
}
