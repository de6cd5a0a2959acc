/** A state on pages: its words, and beside them, small, the name that filters and the API take. */
import { besideWords, stateBoth, stateWords } from '../../domain/purchases/states.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import type { Choice } from './fields.ts';

type Shown = { readonly value: number } | null;

/** In cells of tables; `more` stands after the name. */
export function stateCell(state: Shown, more: string | null = null): Html {
  if (state === null) return html`not seen yet`;
  return html`${stateWords(state.value)}${beside(state, more)}`;
}

/** The name alone, for where the words stand already. */
export function beside(state: Shown, more: string | null = null): Html {
  const texts = [state === null ? null : besideWords(state.value), more].filter((text) => text !== null);
  return texts.length === 0 ? NOTHING : html`<small class="mute"> ${texts.join(', ')}</small>`;
}

/** States to choose from. */
export const stateChoice = (name: string): Choice => ({ value: name, word: stateBoth(name) });
