/** The API's description as a page of the book. */

import { html } from 'hono/html';
import { shellWord } from '../../../src/domain/values/command-line.ts';
import type { Rendered } from '../markdown.ts';
import { type Answer, exampleOf, type OpenApiDocument, type Operation, type Schema } from './model.ts';
import { fieldTable, parameterTable, typeOf, words } from './parts.ts';

type Html = ReturnType<typeof html>;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** Where the lines to copy call; a reader puts another address there. */
const ORIGIN = 'http://127.0.0.1:8080';
const JSON_TYPE = 'application/json';
const TITLE = 'Every call of the HTTP API';

/** Every call and every schema, with a section for each group of calls. */
export function apiPage(document: OpenApiDocument): Rendered {
  const groups = grouped(document);
  const schemas = Object.entries(document.components?.schemas ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const body = html`<h1>${TITLE}</h1>
<p>${words(document.info.description ?? '')} For programs: <code>/openapi.json</code>.</p>
<p>Every call below <code>/v1</code> needs a key with the scope that it names: <code>authorization: Bearer &lt;key&gt;</code>. Where no key is set, only programs of the same machine may call, with the line of the file <code>authorization</code> in <code>DATA_DIR</code>. Times are UTC with milliseconds. Amounts keep the digits they were sent with: read them as decimals. Lists go on with <code>nextCursor</code>.</p>
${groups.map(
  ([tag, calls]) => html`<h2 id="${groupId(tag)}">${tag}</h2>
<ul>${calls.map(({ method, path, operation }) => html`<li><a href="#${operation.operationId}">${operation.summary}</a> <code>${method.toUpperCase()} ${path}</code></li>`)}</ul>
${calls.map((call) => article(document, call))}`,
)}
<h2 id="${groupId('Schemas')}">Schemas</h2>
${schemas.map(([name, schema]) => html`<article id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>${schema.description ? html`<p>${words(schema.description)}</p>` : ''}${fieldTable(document, schema)}</article>`)}`;
  const tags = [...groups.map(([tag]) => tag), 'Schemas'];
  return {
    title: TITLE,
    html: String(body),
    sections: tags.map((tag) => ({ id: groupId(tag), heading: tag, level: 2, text: '' })),
  };
}

const groupId = (tag: string): string => `calls-${tag.toLowerCase()}`;

/** By the first tag, in the order the routes were mounted; what serves operators comes last. */
function grouped(document: OpenApiDocument): [string, Call[]][] {
  const groups = new Map<string, Call[]>();
  for (const [path, item] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(item)) {
      const tag = operation.tags?.[0] ?? 'Other';
      groups.set(tag, [...(groups.get(tag) ?? []), { method, path, operation }]);
    }
  }
  return [...groups].toSorted(([a], [b]) => Number(a === 'Operations') - Number(b === 'Operations'));
}

function article(document: OpenApiDocument, call: Call): Html {
  const { method, path, operation } = call;
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return html`<article id="${operationId}">
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="call"><span class="method ${method}">${method}</span> <code>${path}</code></p>
${scopeNote(operation)}
${description === undefined ? '' : html`<p>${words(description)}</p>`}
${parameters.length === 0 ? '' : html`<h4>Parameters</h4>${parameterTable(document, parameters)}`}
${Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => (schema === undefined ? '' : bodyPart(document, schema, type)))}
<h4>Answers</h4>
<div class="wide" tabindex="0"><table class="answers"><thead><tr><th>status</th><th>body</th><th>when</th></tr></thead>
<tbody>${Object.entries(responses).map(([status, answer]) => answerRow(document, status, answer))}</tbody></table></div>
${inlineAnswers(document, responses)}
<h4>Try it</h4>
<pre tabindex="0"><code>${curlLine(document, call)}</code></pre>
</article>`;
}

function scopeNote({ security = [], 'x-scope': scope }: Operation): Html | string {
  if (scope === undefined) return '';
  return html`<p class="quiet">Scope of the key: <code>${scope}</code>${isOptional(security) ? ' for the whole answer; without one it is shorter' : ''}</p>`;
}

function isOptional(security: NonNullable<Operation['security']>): boolean {
  return security.length === 0 || security.some((each) => Object.keys(each).length === 0);
}

function bodyPart(document: OpenApiDocument, schema: Schema, type: string): Html {
  return html`<h4>Body</h4><p class="quiet">${typeOf(schema)}${type === JSON_TYPE ? '' : html` as ${type}`}</p>${fieldTable(document, schema)}`;
}

function answerRow(document: OpenApiDocument, status: string, { description, content = {} }: Answer): Html {
  const bodies = Object.entries(content).map(([type, { schema }]) =>
    type === JSON_TYPE && schema !== undefined ? typeOf(schema) : html`<span class="quiet">${type}</span>`,
  );
  // Definitions list a problem's codes after this word; each is something a program compares.
  const codes = /^Problem: ([a-z_, ]+)$/.exec(description)?.[1]?.split(', ');
  const when =
    codes === undefined ? words(description) : codes.map((code, index) => html`${index === 0 ? '' : ' · '}<code>${code}</code>`);
  const isProblem = codes !== undefined && document.components?.schemas?.Problem !== undefined;
  return html`<tr><th><span class="status">${status}</span></th><td>${isProblem ? html`<a href="#schema-Problem">Problem</a>` : join(bodies)}</td><td>${when}</td></tr>`;
}

/** Fields of bodies that have no name of their own; the others are among the schemas. */
function inlineAnswers(document: OpenApiDocument, responses: Readonly<Record<string, Answer>>): Html[] {
  return Object.entries(responses).flatMap(([status, { content = {} }]) => {
    const schema = content[JSON_TYPE]?.schema;
    if (schema === undefined || (schema.properties ?? schema.allOf) === undefined) return [];
    return [html`<details><summary>Fields of the body of ${status}</summary>${fieldTable(document, schema)}</details>`];
  });
}

function curlLine(document: OpenApiDocument, { method, path, operation }: Call): string {
  const { parameters = [], requestBody, security = [] } = operation;
  const sample = (name: string): string => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    return encodeURIComponent(String(exampleOf(document, parameter?.schema ?? {})));
  };
  const query = parameters
    .filter((each) => each.in === 'query' && each.required)
    .map((each) => `${each.name}=${encodeURIComponent(String(exampleOf(document, each.schema)))}`);
  const address =
    ORIGIN + path.replace(/\{(\w+)\}/g, (_, name: string) => sample(name)) + (query.length > 0 ? `?${query.join('&')}` : '');
  const parts = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${shellWord(address)}`];
  if (!isOptional(security)) parts.push('-H "authorization: Bearer $API_KEY"');
  const schema = requestBody?.content[JSON_TYPE]?.schema;
  if (schema !== undefined) {
    parts.push("-H 'content-type: application/json'", `-d ${shellWord(JSON.stringify(exampleOf(document, schema)))}`);
  }
  return parts.join(' \\\n  ');
}

function join(parts: readonly Html[]): Html[] {
  return parts.map((part, index) => (index === 0 ? part : html` or ${part}`));
}
