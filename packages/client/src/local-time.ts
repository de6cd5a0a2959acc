/** A local date-time of the service. */
export interface LocalTime {
  /** As the service sent it. */
  readonly text: string;
  /** Null when it is no date-time that can be read. */
  readonly instant: Date | null;
  /** The local clock showed this time twice, or skipped it. */
  readonly ambiguous: boolean;
}
