/** Where a page stands in the navigation. */

/** The parts of the navigation, as it lists them: each with its word and its path below the console's base. */
export const PLACES = {
  Watch: {
    now: ['Now', '/'],
    trends: ['Trends', '/trends'],
    incidents: ['Incidents', '/incidents'],
    purchases: ['Purchases', '/purchases'],
    sites: ['Sites', '/sites'],
  },
  Notify: {
    subscribers: ['Subscribers', '/subscribers'],
    deliveries: ['Deliveries', '/deliveries'],
    channels: ['Channels', '/channels'],
    silences: ['Silences', '/silences'],
    rehearse: ['Rehearse', '/rehearse'],
  },
  Keep: { system: ['System', '/system'] },
} as const;

type Groups = typeof PLACES;
export type Place = { [Group in keyof Groups]: keyof Groups[Group] }[keyof Groups];
