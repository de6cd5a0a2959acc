/** Boxes of which any number may be ticked; none means all. Each is a field of the form of its own, `<name>:<value>`. */
import { type Html, html } from '../frame/html.ts';
import { problemNote, problemOf, type Tried, wrongMarks } from './fields.ts';

type Values = Readonly<Record<string, string>>;

/** All choices below their legend, each written by `word`, and the API's reason where it refused what was ticked. */
export function tickBoxes(
  { name, legend }: { name: string; legend: string },
  choices: readonly string[],
  tried: Tried,
  word = (choice: string): string => choice,
): Html {
  const { values } = tried;
  const isWrong = problemOf(name, tried) !== null;
  const box = (choice: string, at: number): Html =>
    html`<label class="inline"><input type="checkbox" name="${name}:${choice}" value="on"${isWrong && at === 0 && wrongMarks(name)}${values[`${name}:${choice}`] === 'on' && html` checked`}> ${word(choice)}</label>`;
  return html`<fieldset class="lab"><legend>${legend}</legend><div class="ticks">${choices.map(box)}</div>${problemNote(name, 'The choice', tried)}</fieldset>`;
}

/** The ticked choices; null: none, which means all. */
export function ticked(values: Values, name: string): string[] | null {
  const chosen = Object.keys(values).flatMap((field) => (field.startsWith(`${name}:`) ? [field.slice(name.length + 1)] : []));
  return chosen.length === 0 ? null : chosen;
}
