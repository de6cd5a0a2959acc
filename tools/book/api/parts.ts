/** Tables of parameters and fields, and types as links. */
import { html } from 'hono/html';
import {
  alternatives,
  limitsOf,
  type OpenApiDocument,
  type Parameter,
  propertiesOf,
  resolved,
  type Schema,
  schemaName,
} from './model.ts';

type Html = ReturnType<typeof html>;

/** Deeper fields are left to the reader's link. */
const DEEPEST = 3;

/** A description; what stands between backticks is code. */
export function words(text: string): Html[] {
  return text.split(/`([^`]+)`/).map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : html`${part}`));
}

/** A schema in a word or two; one with a name leads to its fields. */
export function typeOf(schema: Schema): Html {
  const name = schemaName(schema);
  if (name !== null) return html`<a href="#schema-${name}">${name}</a>`;
  if (schema.const !== undefined) return html`<code>${JSON.stringify(schema.const)}</code>`;
  if (schema.enum !== undefined)
    return html`${listed(
      schema.enum.map((value) => html`<code>${String(value)}</code>`),
      ', ',
    )}`;
  // A named schema, and what is added to it.
  if (schema.allOf !== undefined) {
    const known = schema.allOf.filter((part) => schemaName(part) !== null);
    return known.length === schema.allOf.length
      ? html`${listed(known.map(typeOf), ' and ')}`
      : html`${listed(known.map(typeOf), ' and ')} and more`;
  }
  const options = alternatives(schema);
  if (options.length > 1) return html`${listed(options.map(typeOf), ' or ')}`;
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? ['any JSON']);
  return html`${listed(
    types.map((type) =>
      type === 'array'
        ? html`list of ${schema.items === undefined ? 'anything' : typeOf(schema.items)}`
        : html`${type === 'string' ? 'text' : type}`,
    ),
    ' or ',
  )}`;
}

function listed(parts: readonly Html[], separator: string): Html[] {
  return parts.map((part, index) => (index === 0 ? part : html`${separator}${part}`));
}

/** One row per parameter. */
export function parameterTable(document: OpenApiDocument, parameters: readonly Parameter[]): Html {
  return html`<div class="wide" tabindex="0"><table><thead><tr><th>name</th><th>in</th><th>type</th><th>meaning</th></tr></thead>
<tbody>${parameters.map(
    (each) =>
      html`<tr><th><code>${each.name}</code> ${each.required ? html`<span class="must">required</span>` : ''}</th><td>${each.in}</td><td>${typeOf(each.schema)}</td><td>${meaning(document, each.schema, each.description)}</td></tr>`,
  )}</tbody></table></div>`;
}

/** One row per field; fields of objects without a name of their own follow with their path. */
export function fieldTable(document: OpenApiDocument, schema: Schema): Html {
  const rows = fieldRows(document, schema, '', 0);
  if (rows.length === 0) {
    const limits = limitsOf(resolved(document, schema));
    return html`<p class="quiet">${typeOf(resolved(document, schema))}${limits === '' ? '' : `, ${limits}`}</p>`;
  }
  return html`<div class="wide" tabindex="0"><table><thead><tr><th>field</th><th>type</th><th>meaning</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function fieldRows(document: OpenApiDocument, schema: Schema, prefix: string, depth: number): Html[] {
  return propertiesOf(document, schema).flatMap(({ name, schema: field, required }) => {
    const row = html`<tr><th><code>${prefix}${name}</code> ${required ? '' : html`<span class="quiet">optional</span>`}</th><td>${typeOf(field)}</td><td>${meaning(document, field, field.description)}</td></tr>`;
    const inside = alternatives(field)
      .map((each) => each.items ?? each)
      .find((each) => each.properties !== undefined);
    const isList = alternatives(field).some((each) => each.items !== undefined);
    if (inside === undefined || depth >= DEEPEST) return [row];
    return [row, ...fieldRows(document, inside, `${prefix}${name}${isList ? '[]' : ''}.`, depth + 1)];
  });
}

function meaning(document: OpenApiDocument, schema: Schema, description: string | undefined): Html {
  const example = schema.example ?? (schema.$ref === undefined ? undefined : resolved(document, schema).example);
  const notes = [limitsOf(schema)].filter((note) => note !== '').map((note) => html`${note}`);
  // Every time looks alike.
  if (example !== undefined && schema.format !== 'date-time') {
    notes.push(html`such as <code>${typeof example === 'string' ? example : JSON.stringify(example)}</code>`);
  }
  const text = description === undefined ? '' : html`${words(description)} `;
  return html`${text}${notes.length === 0 ? '' : html`<span class="quiet">${listed(notes, ', ')}</span>`}`;
}
