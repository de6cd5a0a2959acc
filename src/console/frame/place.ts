/** Where a page stands in the navigation. */

/** The parts of the navigation, as it lists them. */
export type Place =
  | 'now'
  | 'incidents'
  | 'purchases'
  | 'sites'
  | 'subscribers'
  | 'deliveries'
  | 'channels'
  | 'silences'
  | 'rehearse'
  | 'system';
