/** Charts as SVG: horizontal bars of one or several parts, and lines over time. Their colours follow the theme of the reader. */

export interface Bar {
  readonly name: string;
  /** The lengths of its parts, in the order of the chart's legend. */
  readonly parts: readonly number[];
  /** Drawn as the one that the chart is about. */
  readonly isOwn?: boolean;
}

export interface BarChart {
  /** What a screen reader says of the picture. */
  readonly title: string;
  readonly unit: string;
  /** What each part is; empty where bars have one. */
  readonly legend: readonly string[];
  readonly bars: readonly Bar[];
}

export interface Line {
  readonly name: string;
  readonly points: readonly { readonly x: number; readonly y: number }[];
}

export interface LineChart {
  readonly title: string;
  readonly unit: string;
  /** What the numbers below the chart count. */
  readonly along: string;
  readonly lines: readonly Line[];
}

const WIDTH = 720;
const NAMES = 150;
const VALUES = 90;
const ROW = 30;
const BAR = 18;
const TOP = 34;
const PLOT = { left: 60, right: 20, top: 40, height: 220, bottom: 40 };
const STYLE = `text{font:13px system-ui,sans-serif;fill:#1c2733}.n{text-anchor:end}.m{text-anchor:middle}.q{fill:#5b6b80}
.p0{fill:#93a8c4}.p1{fill:#c3cfdf}.p2{fill:#e0e6ee}.o0{fill:#0b6e4f}.o1{fill:#5fb594}.o2{fill:#b2dfcc}
.l{fill:none;stroke-width:2}.l0{stroke:#0b6e4f}.l1{stroke:#b45309}.l2{stroke:#5b6b80}.g{stroke:#d5dce5;stroke-width:1}
@media(prefers-color-scheme:dark){text{fill:#e6edf5}.q{fill:#8fa3ba}.p0{fill:#5b7391}.p1{fill:#42546b}.p2{fill:#33414f}.o0{fill:#34c38f}.o1{fill:#23805f}.o2{fill:#175540}
.l0{stroke:#34c38f}.l1{stroke:#f0a94b}.l2{stroke:#8fa3ba}.g{stroke:#33414f}}`;

/** A picture of bars from a common zero, each with its sum at the end. */
export function barChart({ title, unit, legend, bars }: BarChart): string {
  const longest = Math.max(...bars.map(sumOf));
  const scale = (WIDTH - NAMES - VALUES) / longest;
  const rows = bars.flatMap((bar, index) => barOf(bar, TOP + index * ROW, scale));
  return picture(title, TOP + bars.length * ROW + 4, [...heading(`${title}, ${unit}`, legend), ...rows]);
}

function barOf({ name, parts, isOwn = false }: Bar, y: number, scale: number): string[] {
  let x = NAMES;
  const drawn = parts.map((part, index) => {
    const rect = `<rect class="${isOwn ? 'o' : 'p'}${index}" x="${round(x)}" y="${y}" width="${round(part * scale)}" height="${BAR}"/>`;
    x += part * scale;
    return rect;
  });
  const middle = y + BAR - 4;
  const label = `<text class="n" x="${NAMES - 8}" y="${middle}">${escaped(name)}</text>`;
  return [label, ...drawn, `<text x="${round(x + 6)}" y="${middle}">${shown(sumOf({ parts }))}</text>`];
}

/** A picture of lines over a common axis; each begins at zero, so that growth shows in its true size. */
export function lineChart({ title, unit, along, lines }: LineChart): string {
  const points = lines.flatMap((line) => line.points);
  const right = Math.max(...points.map(({ x }) => x));
  const most = niceAbove(Math.max(...points.map(({ y }) => y)));
  const toX = (x: number): number => PLOT.left + (x / right) * (WIDTH - PLOT.left - PLOT.right);
  const toY = (y: number): number => PLOT.top + PLOT.height * (1 - y / most);
  const grid = [0, 0.2, 0.4, 0.6, 0.8, 1].flatMap((part) => {
    const y = round(toY(part * most));
    return [
      `<path class="g" d="M${PLOT.left} ${y}H${WIDTH - PLOT.right}"/>`,
      `<text class="n q" x="${PLOT.left - 8}" y="${y + 4}">${shown(part * most)}</text>`,
    ];
  });
  const drawn = lines.map(
    ({ points: own }, index) =>
      `<path class="l l${index}" d="M${own.map(({ x, y }) => `${round(toX(x))} ${round(toY(y))}`).join('L')}"/>`,
  );
  const below = PLOT.top + PLOT.height + 20;
  const axis = [0, 0.5, 1].map(
    (part) => `<text class="m q" x="${round(toX(part * right))}" y="${below}">${shown(Math.round(part * right))}</text>`,
  );
  const legend = lines.map(({ name }, index) => legendEntry(name, `l l${index}`, index));
  return picture(title, PLOT.top + PLOT.height + PLOT.bottom, [
    `<text x="0" y="14">${escaped(`${title}, ${unit}`)}</text>`,
    ...legend.flat(),
    ...grid,
    ...drawn,
    ...axis,
    `<text class="m q" x="${WIDTH / 2}" y="${below + 16}">${escaped(along)}</text>`,
  ]);
}

function heading(text: string, legend: readonly string[]): string[] {
  const entries = legend.flatMap((name, index) => legendEntry(name, `p${index}`, index));
  return [`<text x="0" y="14">${escaped(text)}</text>`, ...(legend.length > 1 ? entries : [])];
}

function legendEntry(name: string, style: string, index: number): string[] {
  const x = 330 + index * 130;
  const mark = style.startsWith('l')
    ? `<path class="${style}" d="M${x} 9h14"/>`
    : `<rect class="${style}" x="${x}" y="3" width="14" height="12"/>`;
  return [mark, `<text x="${x + 20}" y="14">${escaped(name)}</text>`];
}

function picture(title: string, height: number, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>${STYLE}</style>
${parts.join('\n')}
</svg>
`;
}

const sumOf = ({ parts }: Pick<Bar, 'parts'>): number => parts.reduce((sum, part) => sum + part, 0);
const round = (value: number): number => Math.round(value * 10) / 10;

/** Three digits, and thousands apart. */
function shown(value: number): string {
  if (value >= 1_000) return Math.round(value).toLocaleString('en').replaceAll(',', ' ');
  return value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value < 10 ? 2 : 3)));
}

/** The next of 1, 2 or 5 times a power of ten. */
function niceAbove(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value)!;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
