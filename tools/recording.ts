/**
 * The recording of the demo for the README, made from a run in a real terminal of 80×24: `npm run recording` writes
 * docs/pictures/demo-terminal.svg, a film of what stood on the terminal. Its colours follow the theme of the page; where a person
 * wants no motion, one picture stands still.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IBufferCell } from '@xterm/headless';
import { openTerminal, type TestTerminal } from '../test/support/terminal.ts';

const ROOT = join(import.meta.dirname, '..');
const FILE = join(ROOT, 'docs/pictures/demo-terminal.svg');
/** GitHub shows larger pictures, too, but a README is read on slow lines. */
const LARGEST = 300_000;
const COLUMNS = 80;
const ROWS = 24;
/** Of a character, in the units of the picture. */
const CELL = { width: 8.4, height: 18 };
const FONT_SIZE = 14;
const MARGIN = 16;
/** Every second of the run is a picture. */
const EVERY_MS = 1_000;
/** How long a picture stays in the film: a new chapter and Slack's messages are to be read, traffic goes by. */
const SHOWN_MS = { chapter: 1_800, message: 1_000, traffic: 350, last: 4_000 };
/** The line with the chapter's title. */
const CHAPTER_ROW = 3;

/** Colours of the palette that the demo uses, as classes. */
const CLASSES: ReadonlyMap<number, string> = new Map([
  [1, 'r'],
  [2, 'g'],
  [3, 'y'],
  [6, 'c'],
  [8, 'd'],
]);
const STYLE = `
text{font:${FONT_SIZE}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#1f2328}
.b{font-weight:700}.r{fill:#cf222e}.g{fill:#1a7f37}.y{fill:#9a6700}.c{fill:#0969da}.d{fill:#656d76}
.w{fill:#f6f8fa;stroke:#d1d9e0}
@media (prefers-color-scheme:dark){text{fill:#e6edf3}.r{fill:#ff7b72}.g{fill:#3fb950}.y{fill:#d29922}.c{fill:#79c0ff}.d{fill:#8b949e}.w{fill:#0d1117;stroke:#3d444d}}`;

interface Run {
  readonly text: string;
  readonly column: number;
  readonly cells: number;
  readonly style: string;
}

const folder = mkdtempSync(join(tmpdir(), 'pw-recording-'));
try {
  const frames = withoutRepeats(await record(folder));
  const film = Buffer.from(filmOf(frames));
  if (film.length > LARGEST) throw new Error(`the recording has ${film.length} bytes, more than ${LARGEST}`);
  writeFileSync(FILE, film);
  console.log(`${frames.length} pictures, ${film.length} bytes: ${FILE}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the demo to its end; answers the terminal's lines as markup, once a second. */
async function record(cwd: string): Promise<string[][]> {
  const program = [process.execPath, join(ROOT, 'bin/purchase-watch.mjs'), 'demo', '--once'];
  const terminal = openTerminal(program, { cwd, columns: COLUMNS, rows: ROWS });
  const frames: string[][] = [];
  const timer = setInterval(() => frames.push(linesOf(terminal)), EVERY_MS);
  const code = await terminal.ended;
  clearInterval(timer);
  frames.push(linesOf(terminal));
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
  return frames;
}

function linesOf({ emulator }: TestTerminal): string[] {
  const { active } = emulator.buffer;
  return Array.from({ length: ROWS }, (_, row) => {
    const line = active.getLine(active.viewportY + row)!;
    return runsOf(Array.from({ length: COLUMNS }, (_, column) => line.getCell(column)!))
      .map(markupOf)
      .join('');
  });
}

/** Neighbouring characters of one style; blanks between words belong to the run before them. */
function runsOf(cells: readonly IBufferCell[]): Run[] {
  const runs: { text: string; column: number; cells: number; style: string }[] = [];
  for (const [column, cell] of cells.entries()) {
    const width = cell.getWidth();
    if (width === 0) continue;
    const text = cell.getChars() || ' ';
    const style = [cell.isBold() ? 'b' : '', CLASSES.get(cell.getFgColor()) ?? ''].join(' ').trim();
    const last = runs.at(-1);
    if (last !== undefined && (last.style === style || text === ' ')) {
      last.text += text;
      last.cells += width;
    } else if (text !== ' ') runs.push({ text, column, cells: width, style });
  }
  return runs.map((run) => {
    const text = run.text.trimEnd();
    return { ...run, text, cells: run.cells - (run.text.length - text.length) };
  });
}

/** The length is given, because every reader has another font. */
function markupOf({ text, column, cells, style }: Run): string {
  const x = column === 0 ? '' : ` x="${round(column * CELL.width)}"`;
  const classes = style === '' ? '' : ` class="${style}"`;
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
  return `<text${x}${classes} textLength="${round(cells * CELL.width)}">${escaped}</text>`;
}

/** All pictures one below the other, of which a window shows one at a time. A line that is shown again is a reference. */
function filmOf(frames: readonly (readonly string[])[]): string {
  const ids = new Map<string, number>();
  const idOf = (line: string): number => {
    if (!ids.has(line)) ids.set(line, ids.size);
    return ids.get(line)!;
  };
  const height = ROWS * CELL.height;
  const pictures = frames.map((lines, at) => {
    const uses = lines.map((line, row) => (line === '' ? '' : `<use href="#l${idOf(line)}" y="${row * CELL.height}"/>`));
    return `<g transform="translate(0 ${at * height})">${uses.join('')}</g>`;
  });
  const defs = [...ids].map(([line, id]) => `<g id="l${id}">${line}</g>`);
  const lengths = frames.map((lines, at) => shownFor(lines, frames[at - 1], at === frames.length - 1));
  const duration = lengths.reduce((sum, length) => sum + length, 0);
  let begin = 0;
  const steps = lengths.map((length, at) => {
    const share = round((begin / duration) * 100);
    begin += length;
    return `${share}%{transform:translateY(${-at * height}px)}`;
  });
  const still = stillOf(frames) * height;
  const size = { width: COLUMNS * CELL.width + 2 * MARGIN, height: height + 2 * MARGIN };
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${size.width} ${size.height}" width="${size.width}" height="${size.height}" role="img">
<title>purchase-watch demo</title>
<style>${STYLE}
@keyframes f{${steps.join('')}100%{transform:translateY(${-(frames.length - 1) * height}px)}}
#f{animation:f ${duration}ms step-end infinite}
@media (prefers-reduced-motion:reduce){#f{animation:none;transform:translateY(${-still}px)}}</style>
<defs>${defs.join('\n')}</defs>
<rect class="w" x=".5" y=".5" width="${size.width - 1}" height="${size.height - 1}" rx="8"/>
<clipPath id="c"><rect x="${MARGIN}" y="${MARGIN}" width="${COLUMNS * CELL.width}" height="${height}"/></clipPath>
<g clip-path="url(#c)"><g transform="translate(${MARGIN} ${MARGIN + FONT_SIZE})"><g id="f">
${pictures.join('\n')}
</g></g></g>
</svg>
`;
}

/** Before the first line and while the database is made, nothing changes for seconds. */
function withoutRepeats(frames: readonly string[][]): string[][] {
  return frames.filter((lines, at) => lines.join('') !== (frames[at - 1] ?? []).join(''));
}

function shownFor(lines: readonly string[], before: readonly string[] | undefined, isLast: boolean): number {
  if (isLast) return SHOWN_MS.last;
  if (lines[CHAPTER_ROW] !== before?.[CHAPTER_ROW]) return SHOWN_MS.chapter;
  return lines.some((line) => line.includes('┌─ Slack')) ? SHOWN_MS.message : SHOWN_MS.traffic;
}

/** The picture that says most: the last with the message about the broken page. */
function stillOf(frames: readonly (readonly string[])[]): number {
  return Math.max(
    0,
    frames.findLastIndex((lines) => lines.some((line) => /demo-se: .*customers stuck/.test(line))),
  );
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
