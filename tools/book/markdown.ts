/** A page of Markdown as HTML: headings that can be linked, links between pages, and its text in sections for the search. */
import { Marked, type Token, type Tokens } from 'marked';
import { linkTarget, type Page } from './pages.ts';

/** A heading and what stands below it. */
export interface Section {
  /** Of the heading; empty for what stands before the first one. */
  readonly id: string;
  readonly heading: string;
  readonly level: number;
  readonly text: string;
}

export interface Rendered {
  readonly title: string;
  readonly html: string;
  readonly sections: readonly Section[];
}

export interface RenderOptions {
  /** Path in the book by path in the repository. */
  readonly places: ReadonlyMap<string, string>;
  /** Whether the book has the pictures; without them their descriptions stand there. */
  readonly pictures: boolean;
}

/** Renders a page. Throws an Error for a link to a page that is missing. */
export function render(page: Page, { places, pictures }: RenderOptions): Rendered {
  const marked = new Marked();
  const tokens = marked.lexer(pictures ? page.markdown : withoutPictures(page.markdown));
  const headings = new Map<Token, string>();
  const idOf = createSlugs();
  for (const token of tokens) if (token.type === 'heading') headings.set(token, idOf(plain(token)));
  marked.use({
    renderer: {
      heading(token) {
        const id = headings.get(token) ?? idOf(plain(token));
        return `<h${token.depth} id="${id}">${this.parser.parseInline(token.tokens)}<a class="here" href="#${id}" aria-label="Link to this section">#</a></h${token.depth}>\n`;
      },
      link({ href, tokens: inside }) {
        const words = this.parser.parseInline(inside);
        const target = linkTarget(href, page, places);
        if (target === null && /\.md(?:#|$)/.test(href)) throw new Error(`${page.source} links to ${href}, which the book lacks`);
        return target === null ? words : `<a href="${escaped(target)}">${words}</a>`;
      },
      code({ text, lang }) {
        if (lang === 'mermaid') return referencesTable(text);
        const label = lang === undefined || lang === '' ? '' : ` data-language="${escaped(lang)}"`;
        return `<pre tabindex="0"${label}><code>${escaped(text)}</code></pre>\n`;
      },
      table(token) {
        const cells = (row: readonly Tokens.TableCell[], tag: string): string =>
          `<tr>${row.map((cell) => `<${tag}>${this.parser.parseInline(cell.tokens)}</${tag}>`).join('')}</tr>`;
        return `<div class="wide" tabindex="0"><table><thead>${cells(token.header, 'th')}</thead><tbody>${token.rows.map((row) => cells(row, 'td')).join('\n')}</tbody></table></div>\n`;
      },
      html: ({ text }) => text.replaceAll(/<!--[\s\S]*?-->/g, ''),
    },
  });
  const sections = sectionsOf(tokens, headings);
  return { title: sections.find(({ level }) => level === 1)?.heading ?? page.source, html: marked.parser(tokens), sections };
}

/** An entity-relationship diagram as a table of its references: the book runs no script that draws. */
function referencesTable(diagram: string): string {
  const references = diagram.matchAll(/^\s*(\w+) \S+ (\w+) : "([^"]*)"$/gm);
  const rows = Array.from(
    references,
    ([, target, table, columns]) => `<tr><td>${table}</td><td>${escaped(columns!)}</td><td>${target}</td></tr>`,
  );
  return `<div class="wide" tabindex="0"><table><thead><tr><th>table</th><th>by</th><th>refers to</th></tr></thead><tbody>${rows.join('\n')}</tbody></table></div>\n`;
}

/** Descriptions in place of pictures. */
function withoutPictures(markdown: string): string {
  return markdown.replaceAll(/<source[^>]*>|<\/?picture>/g, '').replaceAll(/<img [^>]*\balt="([^"]*)"[^>]*>/g, '*Picture: $1*');
}

function sectionsOf(tokens: readonly Token[], headings: ReadonlyMap<Token, string>): Section[] {
  const sections: { id: string; heading: string; level: number; text: string }[] = [];
  for (const token of tokens) {
    const id = headings.get(token);
    if (id !== undefined) sections.push({ id, heading: plain(token), level: (token as Tokens.Heading).depth, text: '' });
    else {
      const last = sections.at(-1) ?? { id: '', heading: '', level: 1, text: '' };
      if (sections.length === 0) sections.push(last);
      last.text = `${last.text} ${plain(token)}`.trim();
    }
  }
  return sections;
}

/** The words of a token, without marks. */
function plain(token: Token): string {
  if (token.type === 'table') {
    const { header, rows } = token as Tokens.Table;
    return [header, ...rows].map((row) => row.map((cell) => cell.tokens.map(plain).join('')).join(' ')).join(' ');
  }
  if (token.type === 'list') return (token as Tokens.List).items.map(plain).join(' ');
  if (token.type === 'html') return '';
  if ('tokens' in token && token.tokens !== undefined) return token.tokens.map(plain).join('');
  return 'text' in token ? unescaped(String(token.text)) : token.type === 'br' ? ' ' : '';
}

/** Ids of headings as GitHub makes them, so that links work there and here. */
function createSlugs(): (heading: string) => string {
  const taken = new Map<string, number>();
  return (heading) => {
    const id = heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc} -]/gu, '')
      .replaceAll(' ', '-');
    const times = taken.get(id) ?? 0;
    taken.set(id, times + 1);
    return times === 0 ? id : `${id}-${times}`;
  };
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}

function unescaped(text: string): string {
  return text
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&');
}
