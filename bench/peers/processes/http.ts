/** The two calls that every peer makes. */
export interface Http {
  /** Asks the checkout service for the state of a purchase. */
  poll(id: string): Promise<number>;
  /** Posts the signed webhook of an event; fails unless the receiver answers 200. */
  post(event: ShopEvent): Promise<void>;
}

/** An event as it was stored. */
export interface ShopEvent {
  readonly id: string;
  readonly body: string;
}
