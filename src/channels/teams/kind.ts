/** Microsoft Teams as a kind of channel. */

import { exampleEvents } from '../people/examples.ts';
import { serviceKind } from '../people/service-kind.ts';
import { createTeamsChannel } from './teams.ts';

/** Teams cannot be asked whether it is alive: a workflow runs, and fails visibly, with whatever it is sent. */
export const teamsKind = serviceKind({
  create: createTeamsChannel,
  // Teams takes a few messages a second.
  spacing: 1_000,
  examples: exampleEvents,
});
