/** Fields of forms: a control under its label, with what was typed and with what the API said of it. */
import type { ApiRefusal } from '../frame/api-calls.ts';
import { type Html, html, NOTHING } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';

/** A form as it was posted, and why it was refused. A form that was not posted yet has only what it begins with. */
export interface Tried {
  readonly values: Readonly<Record<string, string>>;
  readonly refusal: ApiRefusal | null;
}

export interface Field {
  /** As the API names it: what the API says of a field is shown beside that field. */
  readonly name: string;
  readonly label: string;
  readonly tried: Tried;
  readonly placeholder?: string;
  readonly hint?: string;
  readonly isRequired?: boolean;
  readonly longest?: number;
  /** Several lines instead of one. */
  readonly isLong?: boolean;
  /** Instead of free text. */
  readonly choices?: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly word: string;
}

/** A control with its label. */
export function field({ label, hint, ...given }: Field): Html {
  const { name, tried } = given;
  const problem = problemOf(name, tried);
  return html`<label>${label}${problem === null ? NOTHING : html` <span class="problem">${icon('warning')} ${label} ${problem}.</span>`}${control(given, problem !== null)}${hint === undefined ? NOTHING : html`<small class="small">${hint}</small>`}</label>`;
}

function control(
  { name, tried, placeholder, isRequired, longest, isLong, choices }: Omit<Field, 'label' | 'hint'>,
  isWrong: boolean,
): Html {
  const value = tried.values[name] ?? '';
  const marks = html`${isRequired ? html` required` : NOTHING}${isWrong ? html` aria-invalid="true"` : NOTHING}${longest === undefined ? NOTHING : html` maxlength="${String(longest)}"`}${placeholder === undefined ? NOTHING : html` placeholder="${placeholder}"`}`;
  if (choices !== undefined) {
    return html`<select name="${name}"${marks}>${choices.map((each) => html`<option value="${each.value}"${each.value === value ? html` selected` : NOTHING}>${each.word}</option>`)}</select>`;
  }
  if (isLong) return html`<textarea name="${name}"${marks}>${value}</textarea>`;
  return html`<input name="${name}" value="${value}" autocomplete="off"${marks}>`;
}

function problemOf(name: string, { refusal }: Tried): string | null {
  return refusal?.errors.find(({ field: wrong }) => wrong === name)?.detail ?? null;
}

/** What was refused for a reason that no field of the form stands for; `fields` are the names of those that do. */
export function refusalNote({ refusal }: Tried, fields: readonly string[]): Html {
  if (refusal === null) return NOTHING;
  const others = refusal.errors.filter(({ field: wrong }) => !fields.includes(wrong));
  if (refusal.errors.length > 0 && others.length === 0) return NOTHING;
  const says = refusal.errors.length === 0 ? [refusal.message] : others.map(({ field: wrong, detail }) => `${wrong}: ${detail}`);
  return html`<div class="note warning" role="alert">${icon('warning', 'warning')}<p>${says.join(' ')}</p></div>`;
}

/** What was typed, without the fields that were left empty. */
export function filled(form: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (form[name]?.trim() ? [[name, form[name]]] : [])));
}
