/** The docs as a book: an index with one place for each page, and pages that the code makes. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { LOG_EVENTS } from '../../src/runtime/log-events.ts';
import { render } from '../../tools/book/markdown.ts';
import { errorsPage } from '../../tools/errors.ts';
import { logsPage } from '../../tools/logs.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const INDEX = read('docs/README.md');
/** Pages that have an index of their own. */
const OWN_INDEX = 'decisions';

/** The parts of the index by their headings, with the targets of the links in each. */
function parts(): Map<string, string[]> {
  return new Map(
    INDEX.split(/^## /m)
      .slice(1)
      .map((part) => {
        const [heading = ''] = part.split('\n', 1);
        return [heading, [...part.matchAll(/\]\(([^)#]+)\)/g)].map(([, target]) => target!)];
      }),
  );
}

test('the index has four parts, and each page stands in one of them, once', () => {
  expect([...parts().keys()]).toEqual(['Tutorial', 'Guides', 'Reference', 'Explanation']);
  const pages = readdirSync(join(ROOT, 'docs')).filter((name) => /\.(?:md|json)$/.test(name) && name !== 'README.md');
  const linked = [...parts().values()].flat().filter((target) => !target.startsWith('../'));
  expect(linked.toSorted()).toEqual([...pages, `${OWN_INDEX}/README.md`].toSorted());
});

test('the three readers of the index are led to sections that exist', () => {
  const anchors = [...INDEX.matchAll(/^#+ (.+)$/gm)].map(([, heading]) =>
    heading!
      .toLowerCase()
      .replaceAll(/[^\w -]/g, '')
      .replaceAll(' ', '-'),
  );
  const wanted = [...INDEX.matchAll(/\]\(#([^)]+)\)/g)].map(([, anchor]) => anchor!);
  expect(wanted.length).toBeGreaterThan(5);
  expect(wanted.filter((anchor) => !anchors.includes(anchor))).toEqual([]);
});

test('the diagram of the schema is a table of its references', () => {
  const markdown = read('docs/schema.md');
  const places = new Map([...markdown.matchAll(/\]\(([^)#]+\.md)/g)].map(([, page]) => [join('docs', page!), page!]));
  const { html } = render(
    { source: 'docs/schema.md', path: 'schema.html', markdown, isAside: true },
    { places, pictures: false },
  );
  const references = markdown.match(/^ {2}\w+ \S+--\S+ \w+ : /gm)!;
  expect(references.length).toBeGreaterThan(20);
  expect(html.match(/<tr><td>\w+<\/td><td>[\w, ]+<\/td><td>\w+<\/td><\/tr>/g)).toHaveLength(references.length);
  expect(html).toContain('<tr><td>attempts</td><td>delivery</td><td>deliveries</td></tr>');
});

test('the README leads to the index', () => {
  expect(read('README.md')).toContain('](docs/README.md)');
});

test('the page of error codes is what the code answers, and what to do stands beside each', async () => {
  expect(read('docs/errors.md'), 'write it again: npm run errors').toBe(await errorsPage());
  expect(existsSync(join(ROOT, 'docs/errors.md'))).toBe(true);
});

test('the page of the log is what the code logs', () => {
  expect(read('docs/logs.md'), 'write it again: npm run logs').toBe(logsPage());
});

test('each event of the log is written somewhere', () => {
  const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.endsWith('log-events.ts'))
    .map((path) => read(join('src', path)))
    .join('\n');
  const literals = new Set([...sources.matchAll(/'([a-z_.]+)'/g)].map(([, text]) => text!));
  const templates = [...sources.matchAll(/`([a-z_]+\.)\$\{\w+\}(_\w+)?`/g)].map(([, before, after = '']) => [before!, after]);
  const isWritten = (event: string): boolean =>
    literals.has(event) || templates.some(([before, after]) => event.startsWith(before!) && event.endsWith(after!));
  expect(Object.keys(LOG_EVENTS).filter((event) => !isWritten(event))).toEqual([]);
});

test('the codes of the client are those that its source throws', () => {
  const source = read('packages/client/src/http.ts');
  const thrown = [...source.matchAll(/code: '(\w+)'/g)].map(([, code]) => code!);
  const listed = [...(read('docs/errors.md').split('## Of the client')[1] ?? '').matchAll(/^\| `(\w+)` \|/gm)].map(
    ([, code]) => code!,
  );
  expect(thrown.length).toBeGreaterThan(2);
  expect(thrown.filter((code) => !listed.includes(code))).toEqual([]);
});
