/** Imports point one way: to lower rings, never sideways. What stands alone stays alone. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { readImports, readRings, roomOf, roomsPicture, sourceFiles } from '../tools/rooms.ts';

const ROOT = join(import.meta.dirname, '..');
const RINGS = readRings();
const ALONE = 'simulator';
/** Rooms that ask `actions` for all that the database knows. */
const DOORS = ['api', 'console', 'cli'];
/** Who may start the stand-in service. */
const SIMULATORS_USERS = ['demo', 'cli'];

const named = readImports();
const imports = named.filter(({ isOurs }) => isOurs);
const across = imports.filter(({ file, target }) => roomOf(file) !== roomOf(target));
const ringOf = (room: string): number => RINGS.get(room) ?? Number.NaN;
const said = ({ file, target }: (typeof imports)[number]): string => `${file} imports ${target}`;

test('imports are found at all, those inside functions too', () => {
  expect(imports.length).toBeGreaterThan(300);
  expect(imports.map(said)).toContain('src/cli/run/demo.ts imports src/demo/demo.ts');
});

test('every part of src and every package has its ring, and every ring its part', () => {
  const rooms = ['src', 'packages'].flatMap((folder) => readdirSync(join(ROOT, folder)));
  expect([...RINGS.keys()].sort()).toEqual(rooms.sort());
});

test('every import points to a lower ring', () => {
  const wrong = across.filter(
    ({ file, target }) => roomOf(file) !== ALONE && roomOf(target) !== ALONE && !(ringOf(roomOf(target)) < ringOf(roomOf(file))),
  );
  expect(wrong.map(said)).toEqual([]);
});

test('the parts of the daemon import nothing of each other', () => {
  const loop = (file: string): string => file.split('/')[2]!;
  const inDaemon = imports.filter(({ file, target }) => roomOf(file) === 'daemon' && roomOf(target) === 'daemon');
  expect(inDaemon.length).toBeGreaterThan(50);
  const apart = inDaemon.filter(({ file, target }) => loop(file) !== loop(target) && target !== 'src/daemon/deps.ts');
  expect(apart.map(said)).toEqual([]);
});

test('the doors reach the database through actions alone', () => {
  const ofDoors = across.filter(({ file }) => DOORS.includes(roomOf(file)));
  expect(new Set(ofDoors.map(({ target }) => roomOf(target)))).toContain('actions');
  expect(ofDoors.filter(({ target }) => roomOf(target) === 'postgres').map(said)).toEqual([]);
});

/** The parts of a graph that can be reached from themselves. */
function circles(arrows: readonly (readonly [from: string, to: string])[]): string[] {
  const targets = Map.groupBy(arrows, ([from]) => from);
  const reached = (start: string): Set<string> => {
    const seen = new Set<string>();
    const open = [start];
    for (let at = open.pop(); at !== undefined; at = open.pop()) {
      for (const [, to] of targets.get(at) ?? []) {
        if (seen.has(to)) continue;
        seen.add(to);
        open.push(to);
      }
    }
    return seen;
  };
  return [...targets.keys()].filter((part) => reached(part).has(part));
}

test('no circle of imports among files, and none among folders', () => {
  const folderOf = (file: string): string => dirname(file);
  expect(circles(imports.map(({ file, target }) => [file, target]))).toEqual([]);
  const betweenFolders = imports
    .map(({ file, target }) => [folderOf(file), folderOf(target)] as const)
    .filter(([from, to]) => from !== to && from !== 'src');
  expect(circles(betweenFolders)).toEqual([]);
  expect(circles([...betweenFolders, ['src/domain/values', 'src/domain/events']])).toContain('src/domain/values');
});

test('no folder has more than fifteen files', () => {
  const sizes = [...Map.groupBy(sourceFiles(), dirname)].map(([folder, files]) => [folder, files.length] as const);
  expect(sizes.length).toBeGreaterThan(50);
  expect(sizes.filter(([, size]) => size > 15)).toEqual([]);
});

/** Types of one name that several files export, of src or of one package. */
function sharedNames(files: readonly string[]): string[] {
  const names = files.flatMap((file) =>
    [...readFileSync(join(ROOT, file), 'utf8').matchAll(/^export (?:interface|type|class|enum) (\w+)/gm)].map(([, name]) => ({
      name: name!,
      file,
    })),
  );
  return [...Map.groupBy(names, ({ name }) => name)].flatMap(([name, all]) =>
    all.length > 1 ? [`${name}: ${all.map(({ file }) => file).join(', ')}`] : [],
  );
}

test('each exported type has a name of its own in src, and in each package', () => {
  const parts = Map.groupBy(sourceFiles(), (file) => (file.startsWith('src/') ? 'src' : roomOf(file)));
  expect([...parts.keys()].sort()).toEqual(['client', 'simulator', 'src']);
  expect([...parts.values()].flatMap(sharedNames), 'give it another name').toEqual([]);
  // A package shares no code with src on purpose: Decimal is named in both.
  expect(sharedNames(sourceFiles()).map((shared) => shared.split(':')[0])).toContain('Decimal');
});

test('the simulator shares no code with the product, and only the demo and a command start it', () => {
  expect(across.filter(({ file }) => roomOf(file) === ALONE).map(said)).toEqual([]);
  const users = across.filter(({ target }) => roomOf(target) === ALONE).map(({ file }) => roomOf(file));
  expect(users.filter((user) => !SIMULATORS_USERS.includes(user))).toEqual([]);
});

test('what is true needs no clock, no network and no library but the one that the contracts of events are written in', () => {
  const foreign = named.filter(({ file, isOurs }) => roomOf(file) === 'domain' && !isOurs);
  expect(foreign.filter(({ file, target }) => target !== 'zod' || dirname(file) !== 'src/domain/events').map(said)).toEqual([]);
  expect(foreign.length).toBeGreaterThan(0);
});

test('the picture of the rooms shows the imports as they are', () => {
  expect(readFileSync(join(ROOT, 'docs/rooms.svg'), 'utf8'), 'draw it again: npm run rooms').toBe(roomsPicture());
});

test('each program that is started gets an environment of its own, not the one with the secrets of this process', () => {
  const files = named.filter(({ target }) => target === 'node:child_process').map(({ file }) => file);
  expect(files.length).toBeGreaterThan(3);
  for (const file of files) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    expect(text, file).not.toMatch(/env: (?:process|context)\.env|\.\.\.(?:process|context)\.env|[{,] env[,} ]*stdio/);
    const calls = [...text.matchAll(/\b(?:spawn|spawnSync|execFileSync|promisify\(execFile\))\(/g)];
    expect(calls.length, file).toBeGreaterThan(0);
    for (const { index } of calls) {
      // The call as it is formatted: up to the end of its statement.
      const call = text.slice(index, text.indexOf(';\n', index));
      expect(call, `${file}: ${call}`).toMatch(/\benv: |asServerUser\(/);
    }
  }
});
