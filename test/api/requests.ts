/** Requests to the API, good ones and bad ones, made from what the OpenAPI document says of each operation. */
import fc from 'fast-check';
import type { OpenApiDocument, Operation } from '../../tools/book/api/model.ts';
import { bodyValue, type Known, oddText, parameterText } from './generate.ts';

/** One operation of the document. */
export interface Target {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

/** A request that any HTTP client can send. */
export interface ApiRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** What requests are made of, beside the operation. */
export interface RequestMaking {
  readonly document: OpenApiDocument;
  readonly exists: Known;
  /** The header `authorization`; left out where it is empty. */
  readonly access: fc.Arbitrary<string>;
}

/** Every operation that the document names. */
export function targetsOf(document: OpenApiDocument): Target[] {
  return Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => ({ name: `${method.toUpperCase()} ${path}`, method, path, operation })),
  );
}

/** Requests for one operation. */
export function requestsFor({ method, path, operation }: Target, making: RequestMaking): fc.Arbitrary<ApiRequest> {
  const { document, exists, access } = making;
  const parameters = operation.parameters ?? [];
  const inPath = parameters.filter((each) => each.in === 'path');
  const inQuery = parameters.filter((each) => each.in === 'query');
  const inHeader = parameters.filter((each) => each.in === 'header');
  const schema = operation.requestBody?.content['application/json']?.schema;

  const where = fc
    .tuple(...inPath.map((each) => parameterText(document, each, exists)))
    .map((values) => values.map((value) => encodeURIComponent(value.toWellFormed())))
    // These change the path itself, before anybody sees it.
    .filter((values) => values.every((value) => value !== '' && value !== '.' && value !== '..'))
    .map((values) => inPath.reduce((text, { name }, index) => text.replace(`{${name}}`, () => values[index]!), path));
  const pair = (each: (typeof inQuery)[number]) =>
    fc.tuple(fc.constant(each.name), parameterText(document, each, exists), fc.constant(each.required === true));
  // Of twenty parameters at once, some value is nearly always wrong.
  const optional = Math.min(4, Math.ceil(20 / inQuery.length));
  const query = fc
    .tuple(
      fc.tuple(...inQuery.map((each) => fc.tuple(pair(each), fc.nat(9)))),
      rarely(fc.tuple(fc.constantFrom('', 'x', '__proto__', 'limit', 'site', 'cursor'), oddText)),
    )
    .map(([pairs, extra]) => {
      const given = pairs
        .filter(([[, , required], chance]) => chance < optional || (required && chance < 9))
        .map(([[name, value]]) => [name, value] as const);
      const all = extra === null ? given : [...given, extra];
      return all.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value.toWellFormed())}`).join('&');
    });
  const headers = fc.tuple(...inHeader.map((each) => fc.option(parameterText(document, each, exists)))).map((values) => {
    const entries = inHeader.map(({ name }, index) => [name, values[index]] as const);
    // What HTTP itself cannot carry never arrives.
    return Object.fromEntries(
      entries.filter(
        (entry): entry is [string, string] => entry[1] != null && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(entry[1]),
      ),
    );
  });
  const type = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom('application/json', 'application/json; charset=utf-8') },
    { weight: 1, arbitrary: fc.constantFrom('text/plain', 'application/jsonp', 'multipart/form-data', '') },
  );
  const body =
    schema === undefined
      ? rarely(fc.constantFrom('{}', 'x')).map((text) => text ?? undefined)
      : fc.oneof(
          { weight: 12, arbitrary: bodyValue(document, schema, exists).map((value) => JSON.stringify(value) ?? '') },
          {
            weight: 1,
            arbitrary: fc.constantFrom(
              '',
              '{',
              '{"a":1,}',
              '['.repeat(20_000),
              `{"a":"${'x'.repeat(70_000)}"}`,
              '{"a":1}{',
              '\ufeff{}',
              'null',
            ),
          },
        );
  return fc.record({ where, query, headers, access, type, body }).map((made) => {
    const sent: Record<string, string> = { ...made.headers };
    if (made.access !== '') sent.authorization = made.access;
    if (made.body !== undefined && method !== 'get' && made.type !== '') sent['content-type'] = made.type;
    return {
      method: method.toUpperCase(),
      path: made.query === '' ? made.where : `${made.where}?${made.query}`,
      headers: sent,
      body: method === 'get' ? undefined : made.body,
    };
  });
}

/** Now and then one of these, otherwise null. */
function rarely<T>(some: fc.Arbitrary<T>): fc.Arbitrary<T | null> {
  return fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: some });
}
