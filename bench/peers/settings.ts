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
  /** With the options that each documentation names for order and for crashes, beside those for throughput; its errors are not printed. */
  readonly isCareful?: boolean;
  /** The jobs of an earlier process are there: it adds none. */
  readonly resumes?: boolean;
}
