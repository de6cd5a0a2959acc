/**
 * The rooms, which are the folders of src and the packages, and the imports between them, as a picture. Run by itself it writes docs/rooms.svg. The rings are those of
 * the table in docs/architecture.md.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** One import by one file, both as paths in the repository; `target` is a package's name where it is none of ours. */
export interface Import {
  readonly file: string;
  readonly target: string;
  readonly isOurs: boolean;
}

const IMPORT = /\b(?:import|from)\s*\(?\s*['"]([^'"]+)['"]/g;

/** The sources of `src` and of the packages, as paths in the repository. */
export function sourceFiles(): string[] {
  return ['src', ...readdirSync(join(ROOT, 'packages')).map((name) => `packages/${name}/src`)].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  );
}

/** All imports of the sources, those inside functions too. */
export function readImports(): Import[] {
  return sourceFiles().flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(IMPORT)].map(([, target]) => {
      const isOurs = target!.startsWith('.');
      return { file, target: isOurs ? relative(ROOT, join(ROOT, file, '..', target!)) : target!, isOurs };
    }),
  );
}

/** The ring of each room, by the table `| ring | folder | … |` of the page; the simulator stands outside (NaN). A package's room has its name. */
export function readRings(): Map<string, number> {
  const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');
  return new Map(
    [...page.matchAll(/^\| (\d+|–) \| `(?:packages\/)?([\w.]+)` \|/gm)].map(([, ring, room]) => [room!, Number(ring)]),
  );
}

/** The room of a file: the part of its path after `src` or `packages`. */
export const roomOf = (file: string): string => file.split('/')[1]!;

/** Which rooms each room imports. */
function roomArrows(imports: readonly Import[]): Map<string, Set<string>> {
  const arrows = new Map<string, Set<string>>();
  for (const { file, target, isOurs } of imports) {
    if (!isOurs || roomOf(file) === roomOf(target)) continue;
    arrows.set(roomOf(file), (arrows.get(roomOf(file)) ?? new Set()).add(roomOf(target)));
  }
  return arrows;
}

/** Only arrows that no longer way replaces. There are no circles: the architecture test sees to it. */
function withoutShortcuts(arrows: Map<string, Set<string>>): [from: string, to: string][] {
  const reaches = (from: string, to: string): boolean =>
    [...(arrows.get(from) ?? [])].some((next) => next === to || reaches(next, to));
  return [...arrows].flatMap(([from, targets]) =>
    [...targets]
      .filter((to) => ![...targets].some((other) => other !== to && reaches(other, to)))
      .map((to): [string, string] => [from, to]),
  );
}

const BOX = { width: 108, height: 34, gapX: 28, gapY: 46, margin: 24 };

/** The picture: a row for each ring, the highest first, and an arrow for each import that no longer way replaces. */
export function roomsPicture(): string {
  const rings = readRings();
  const ranks = [...new Set(rings.values())].filter((ring) => !Number.isNaN(ring)).sort((a, b) => b - a);
  const rows = ranks.map((rank) => [...rings].filter(([, ring]) => ring === rank).map(([room]) => room));
  const widest = Math.max(...rows.map((row) => row.length));
  const step = BOX.width + BOX.gapX;
  const width = widest * step - BOX.gapX + 2 * BOX.margin;
  const height = rows.length * (BOX.height + BOX.gapY) - BOX.gapY + 2 * BOX.margin;
  const places = new Map(
    rows.flatMap((row, index) =>
      row.map((room, column): [string, { x: number; y: number }] => [
        room,
        { x: width / 2 + (column - (row.length - 1) / 2) * step, y: BOX.margin + index * (BOX.height + BOX.gapY) },
      ]),
    ),
  );
  const drawn = withoutShortcuts(roomArrows(readImports())).filter(([from, to]) => places.has(from) && places.has(to));
  const lines = drawn.map(([from, to]) => {
    const [start, end] = [places.get(from)!, places.get(to)!];
    const [top, bottom] = [start.y + BOX.height, end.y - 4];
    const bend = (bottom - top) / 2;
    return `<path d="M${start.x} ${top}C${start.x} ${top + bend} ${end.x} ${bottom - bend} ${end.x} ${bottom}"/>`;
  });
  const boxes = [...places].map(
    ([room, { x, y }]) =>
      `<rect x="${x - BOX.width / 2}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6"/><text x="${x}" y="${y + 22}">${room}</text>`,
  );
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="The rooms; arrows point to what a room imports">
<style>rect{fill:#eef2f7;stroke:#5b6b80}text{font:600 14px system-ui,sans-serif;text-anchor:middle;fill:#1c2733}path{fill:none;stroke:#5b6b80;stroke-width:1.4;marker-end:url(#a)}@media(prefers-color-scheme:dark){rect{fill:#22303f;stroke:#8fa3ba}text{fill:#e6edf5}path{stroke:#8fa3ba}}</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" style="fill:#5b6b80;stroke:none"/></marker></defs>
${lines.join('\n')}
${boxes.join('\n')}
</svg>
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/rooms.svg'), roomsPicture());
