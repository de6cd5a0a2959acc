/** Fields of forms: a control under its label, with what was typed and with what the API said of it. */
import type { ApiRefusal } from '../frame/api-calls.ts';
import { type Html, html, NOTHING, trusted } from '../frame/html.ts';
import { icon } from '../frame/icons.ts';

/** A form as it was posted, and why it was refused. A form that was not posted yet has only what it begins with. */
export interface Tried {
  readonly values: Readonly<Record<string, string>>;
  readonly refusal: Pick<ApiRefusal, 'message' | 'errors' | 'status'> | null;
}

export interface FormField {
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
  /** Lines shown at once of what is no prose. */
  readonly rows?: number;
  /** Instead of free text. */
  readonly choices?: readonly Choice[];
}

export interface Choice {
  readonly value: string;
  readonly word: string;
}

/** A control with its label. The first control of a page that was refused has the focus, and its problem stands below it. */
export function field({ label, hint, ...given }: FormField): Html {
  const { name, tried } = given;
  const isWrong = problemOf(name, tried) !== null;
  return html`<div class="field"><label>${label}${control(given, isWrong)}${hint !== undefined && html`<small class="small">${hint}</small>`}</label>${problemNote(name, label, tried)}</div>`;
}

/** Attributes of a control that was refused; nothing of one that was not. Its problem is `problemNote`. */
export function wrongMarks(name: string): Html {
  return html` autofocus aria-invalid="true" aria-describedby="${name}-problem"`;
}

/** Of a longer label, its beginning names the field. */
const LONGEST_NAME = 30;

/** The API's reason to refuse a field, to stand below its control; nothing when it refused another one. */
export function problemNote(name: string, label: string, tried: Tried): Html {
  const problem = problemOf(name, tried);
  const called = label.length <= LONGEST_NAME ? label : label.replace(/[,(].*/, '').trim();
  return problem === null
    ? NOTHING
    : html`<p class="problem" id="${name}-problem">${icon('warning')} <bdi>${called} ${problem}.</bdi></p>`;
}

function control(
  { name, tried, placeholder, isRequired, longest, isLong, rows, choices }: Omit<FormField, 'label' | 'hint'>,
  isWrong: boolean,
): Html {
  const value = tried.values[name] ?? '';
  const marks = html`${isRequired && html` required`}${isWrong && wrongMarks(name)}${longest !== undefined && html` maxlength="${String(longest)}"`}${placeholder !== undefined && html` placeholder="${placeholder}"`}`;
  if (choices !== undefined) {
    return html`<select name="${name}"${marks}>${choices.map((each) => html`<option value="${each.value}"${each.value === value && html` selected`}>${each.word}</option>`)}</select>`;
  }
  if (isLong)
    return html`<textarea name="${name}"${rows !== undefined && html` rows="${String(rows)}" spellcheck="false"`}${marks}>
${longText(value)}</textarea>`;
  return html`<input name="${name}" value="${value}" autocomplete="off"${marks}>`;
}

/** Text within a `textarea`, where nothing but these two signs means anything. Of 1 MB the template would make 0.4 s of work. */
const longText = (text: string): Html => trusted(text.replaceAll('&', '&amp;').replaceAll('<', '&lt;'));

/** Of a list the API names the entry that is wrong, as `types[0]`. */
const isOf = (wrong: string, name: string): boolean => wrong === name || wrong.startsWith(`${name}[`);

/** The API's reason to refuse a field; null when it did not. */
export function problemOf(name: string, { refusal }: Tried): string | null {
  return refusal?.errors.find(({ field: wrong }) => isOf(wrong, name))?.detail ?? null;
}

/** The refusal as far as it is about no field of the form; `fields` are the names of the form's fields. */
export function refusalNote({ refusal }: Tried, fields: readonly string[]): Html {
  if (refusal === null) return NOTHING;
  const others = refusal.errors.filter(({ field: wrong }) => !fields.some((name) => isOf(wrong, name)));
  if (refusal.errors.length > 0 && others.length === 0) return NOTHING;
  const says = refusal.errors.length === 0 ? [refusal.message] : others.map(({ field: wrong, detail }) => `${wrong}: ${detail}`);
  return html`<div class="note warning" role="alert" tabindex="-1" autofocus>${icon('warning', 'warning')}<p><bdi>${says.join(' ')}</bdi></p></div>`;
}

/** The typed values, without the fields that were left empty. */
export function filled(form: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(names.flatMap((name) => (form[name]?.trim() ? [[name, form[name]]] : [])));
}
