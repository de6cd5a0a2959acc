/** The API's description as a page for people. Made on the server: no scripts, nothing from elsewhere. */

import { html, raw } from 'hono/html';
import { shellWord } from '../../domain/values/command-line.ts';
import { type Answer, exampleOf, type OpenApiDocument, type Operation, type Schema } from './page-model.ts';
import { fieldTable, parameterTable, typeOf, words } from './page-parts.ts';
import { STYLE } from './page-style.ts';

type Html = ReturnType<typeof html>;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

interface Where {
  /** Where the reader reached the page, for lines that can be copied. */
  readonly origin: string;
  /** Whether calls need a key here. */
  readonly keyed: boolean;
  /** Address of the document itself, relative to the page: a proxy may serve both below any path. */
  readonly description: string;
}

const JSON_TYPE = 'application/json';

/** The whole page. */
export function docsPage(document: OpenApiDocument, where: Where): Html {
  const groups = grouped(document);
  const schemas = Object.entries(document.components?.schemas ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const { title, description = '' } = document.info;
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}: HTTP API</title>
<style>${raw(STYLE)}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the calls</a>
<nav aria-label="Calls">
<b>${title}</b><a href="./">Documentation</a> · <a href="${where.description}">openapi.json</a>
${groups.map(
  ([tag, calls]) => html`<h2>${tag}</h2>
<ul>${calls.map(({ method, path, operation }) => html`<li><a href="#${operation.operationId}" title="${method.toUpperCase()} ${path}"><span class="method ${method}">${short(method)}</span> <span>${operation.summary}</span></a></li>`)}</ul>`,
)}
<h2>Schemas</h2>
<ul>${schemas.map(([name]) => html`<li><a href="#schema-${name}">${name}</a></li>`)}</ul>
</nav>
<main id="main" tabindex="-1">
<h1>${title}: HTTP API</h1>
<p>${words(description)}</p>
<p>${accessNote(where)} Times are UTC with milliseconds. Amounts keep the digits they were sent with: read them as decimals. Lists go on with <code>nextCursor</code>.</p>
${groups.map(([tag, calls]) => html`<section><h2>${tag}</h2>${calls.map((call) => article(document, call, where))}</section>`)}
<section><h2>Schemas</h2>
${schemas.map(([name, schema]) => html`<article id="schema-${name}"><h3><a href="#schema-${name}">${name}</a></h3>${schema.description ? html`<p>${words(schema.description)}</p>` : ''}${fieldTable(document, schema)}</article>`)}
</section>
</main>
</body>
</html>`;
}

function accessNote({ keyed }: Where): Html {
  return keyed
    ? html`Every call below <code>/v1</code> needs a key with the scope that it names: <code>authorization: Bearer &lt;key&gt;</code>. The key in <code>API_KEY</code> has every scope.`
    : html`No key is set here, so only programs of this machine may call, with the line of the file <code>authorization</code> in <code>DATA_DIR</code>.`;
}

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

function article(document: OpenApiDocument, call: Call, where: Where): Html {
  const { method, path, operation } = call;
  const { operationId, summary, description, parameters = [], requestBody, responses } = operation;
  return html`<article id="${operationId}">
<h3><a href="#${operationId}">${summary}</a></h3>
<p class="call"><span class="method ${method}">${method}</span> <code>${path}</code></p>
${scopeNote(operation, where)}
${description === undefined ? '' : html`<p>${words(description)}</p>`}
${parameters.length === 0 ? '' : html`<h4>Parameters</h4>${parameterTable(document, parameters)}`}
${Object.entries(requestBody?.content ?? {}).map(([type, { schema }]) => (schema === undefined ? '' : bodyPart(document, schema, type)))}
<h4>Answers</h4>
<div class="scroll"><table class="answers"><thead><tr><th>status</th><th>body</th><th>when</th></tr></thead>
<tbody>${Object.entries(responses).map(([status, answer]) => answerRow(document, status, answer))}</tbody></table></div>
${inlineAnswers(document, responses)}
<h4>Try it</h4>
<pre tabindex="0"><code>${curlLine(document, call, where)}</code></pre>
</article>`;
}

function scopeNote({ security = [], 'x-scope': scope }: Operation, { keyed }: Where): Html | string {
  if (!keyed || scope === undefined) return '';
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

function curlLine(document: OpenApiDocument, { method, path, operation }: Call, { origin, keyed }: Where): string {
  const { parameters = [], requestBody, security = [] } = operation;
  const sample = (name: string): string => {
    const parameter = parameters.find((each) => each.in === 'path' && each.name === name);
    return encodeURIComponent(String(exampleOf(document, parameter?.schema ?? {})));
  };
  const query = parameters
    .filter((each) => each.in === 'query' && each.required)
    .map((each) => `${each.name}=${encodeURIComponent(String(exampleOf(document, each.schema)))}`);
  const address =
    origin + path.replace(/\{(\w+)\}/g, (_, name: string) => sample(name)) + (query.length > 0 ? `?${query.join('&')}` : '');
  const parts = [`curl ${method === 'get' ? '' : `-X ${method.toUpperCase()} `}${shellWord(address)}`];
  if (!isOptional(security)) parts.push(keyed ? '-H "authorization: Bearer $API_KEY"' : '-H @.purchase-watch/authorization');
  const schema = requestBody?.content[JSON_TYPE]?.schema;
  if (schema !== undefined) {
    parts.push("-H 'content-type: application/json'", `-d ${shellWord(JSON.stringify(exampleOf(document, schema)))}`);
  }
  return parts.join(' \\\n  ');
}

function short(method: string): string {
  return method === 'delete' ? 'del' : method;
}

function join(parts: readonly Html[]): Html[] {
  return parts.map((part, index) => (index === 0 ? part : html` or ${part}`));
}
