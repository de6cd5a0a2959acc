/** What the bench gives to the process of a peer. */
export interface PeerSettings {
  readonly databaseUrl: string;
  readonly serviceUrl: string;
  readonly receiverUrl: string;
  /** Signs webhooks. */
  readonly secret: string;
  /** How many calls of the checkout service may be in flight. */
  readonly inFlight: number;
  /** Milliseconds from an outcome to the next poll that is planned. */
  readonly every: number;
  /** Port of the Redis that the bench started. */
  readonly redisPort: number;
}
