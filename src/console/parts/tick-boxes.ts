/** Boxes of which any number may be ticked; none means all. Each is a field of the form of its own, `<name>:<value>`. */
import { type Html, html, NOTHING } from '../frame/html.ts';

type Values = Readonly<Record<string, string>>;

export function tickBoxes({
  name,
  legend,
  choices,
  values,
  word = (choice) => choice,
}: {
  name: string;
  legend: string;
  choices: readonly string[];
  values: Values;
  /** How a choice is written; as it is unless given. */
  word?: (choice: string) => string;
}): Html {
  const box = (choice: string): Html =>
    html`<label class="inline"><input type="checkbox" name="${name}:${choice}" value="on"${values[`${name}:${choice}`] === 'on' ? html` checked` : NOTHING}> ${word(choice)}</label>`;
  return html`<fieldset class="lab"><legend>${legend}</legend><div class="ticks">${choices.map(box)}</div></fieldset>`;
}

/** What was ticked; null: nothing, which means all. */
export function ticked(values: Values, name: string): string[] | null {
  const chosen = Object.keys(values).flatMap((field) => (field.startsWith(`${name}:`) ? [field.slice(name.length + 1)] : []));
  return chosen.length === 0 ? null : chosen;
}
