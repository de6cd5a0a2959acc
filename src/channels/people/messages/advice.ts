/** Why purchases may be stuck in a state, and what to look at first. */
import { knownState, LOOK_AT_LATEST_DEPLOY, type NamedState } from '../../../domain/purchases/states.ts';
import { plain } from './mrkdwn.ts';

/** Where the customers are, in words that follow "stuck". */
export function waitingFor(state: NamedState): string {
  return knownState(state.value)?.advice?.place ?? `in ${plain(state.name, 34)}`;
}

/** The likely cause and what to do, as markup. */
export function advice(state: NamedState): { readonly cause: string; readonly remedy: string } {
  return (
    knownState(state.value)?.advice ?? {
      cause: 'The specification names no cause for this state.',
      remedy: `${LOOK_AT_LATEST_DEPLOY}, then ask the provider that the customers wait for in this state.`,
    }
  );
}
