/** All bytes of the engine, kept and put back: memory, files, and which files are open. */
import { ask, type Engine } from './database.ts';
import { type Prepared, planning, preparing } from './statements.ts';

/** What is used of the file system that the engine has in memory (Emscripten's MEMFS). */
interface Files {
  root: Node;
  streams: (Stream | null | undefined)[];
  hashAddNode(node: Node): void;
  hashRemoveNode(node: Node): void;
}
interface Node {
  name: string;
  parent: Node;
  contents: Record<string, Node> | ArrayBufferView<ArrayBuffer> | null;
  usedBytes: number;
  mode: number;
}
interface Stream {
  shared: { position: number } | null;
}

/** All bytes of a database at rest. */
export interface Snapshot {
  readonly memory: Uint8Array;
  readonly files: Folder;
  readonly streams: readonly (KeptStream | undefined)[];
  readonly prepared: Prepared;
}
interface KeptStream {
  readonly stream: Stream;
  readonly fields: Stream;
  readonly position: number;
}
interface File {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly size: number;
}
type Folder = Map<string, { readonly node: Node; readonly kept: File | Folder }>;

const moduleOf = ({ postgres }: Engine): { HEAPU8: Uint8Array; FS: Files } =>
  (postgres as unknown as { Module: { HEAPU8: Uint8Array; FS: Files } }).Module;
/** Where the engine writes. */
const WRITTEN = ['pglite', 'dev', 'tmp'];
const isFolder = (node: Node): boolean => (node.mode & 0o170000) === 0o040000;
const isFile = (node: Node): boolean => (node.mode & 0o170000) === 0o100000;
const inside = (node: Node): [string, Node][] =>
  Object.entries(node.contents as unknown as Record<string, Node>).filter(([, each]) => isFolder(each) || isFile(each));

function bytesOf({ contents, usedBytes }: Node): Uint8Array<ArrayBuffer> {
  if (!ArrayBuffer.isView(contents)) return new Uint8Array();
  return new Uint8Array(contents.buffer, contents.byteOffset, usedBytes);
}

/** Copies everything that the database holds. */
export function keep(engine: Engine): Snapshot {
  const { HEAPU8, FS } = moduleOf(engine);
  const copy = (node: Node): File | Folder => {
    if (isFolder(node)) return new Map(inside(node).map(([name, each]) => [name, { node: each, kept: copy(each) }]));
    const bytes = bytesOf(node).slice();
    return { bytes, size: node.usedBytes };
  };
  const files = new Map(
    WRITTEN.map((name) => [name, (FS.root.contents as Record<string, Node>)[name]!] as const).map(([name, node]) => [
      name,
      { node, kept: copy(node) },
    ]),
  );
  const streams = FS.streams.map((stream) =>
    stream ? { stream, fields: { ...stream }, position: stream.shared?.position ?? 0 } : undefined,
  );
  return { memory: HEAPU8.slice(), files, streams, prepared: engine.statements.keep() };
}

/** The same database, whose engine has prepared and planned all that it has prepared by now. */
export function warmed(engine: Engine, cold: Snapshot): Snapshot {
  const prepared = engine.statements.keep();
  putBack(engine, cold);
  for (const [rest, name] of prepared.names) {
    if (cold.prepared.names.has(rest)) continue;
    ask(engine, planning(name, ask(engine, preparing(name, rest))));
  }
  engine.statements.putBack(prepared);
  return keep(engine);
}

/** Puts everything back as it was: bytes of files are written only where they changed. */
export function putBack(engine: Engine, { memory, files, streams, prepared }: Snapshot): void {
  engine.statements.putBack(prepared);
  const { HEAPU8, FS } = moduleOf(engine);
  HEAPU8.set(memory);
  HEAPU8.fill(0, memory.length);
  const take = (node: Node): void => {
    for (const [, each] of inside(node)) {
      if (isFolder(each)) take(each);
      FS.hashRemoveNode(each);
    }
  };
  const restore = (node: Node, kept: File | Folder): void => {
    if (!(kept instanceof Map)) {
      const now = bytesOf(node);
      if (now.length === kept.size && Buffer.compare(now, kept.bytes) === 0) return;
      node.contents = kept.bytes.slice();
      node.usedBytes = kept.size;
      return;
    }
    const contents = node.contents as unknown as Record<string, Node>;
    for (const [name] of inside(node)) delete contents[name];
    for (const [name, { node: each, kept: of }] of kept) {
      Object.assign(each, { name, parent: node });
      contents[name] = each;
      FS.hashAddNode(each);
      restore(each, of);
    }
  };
  for (const { node, kept } of files.values()) {
    take(node);
    restore(node, kept);
  }
  FS.streams.length = 0;
  for (const kept of streams) {
    if (kept) Object.assign(kept.stream, kept.fields);
    if (kept?.stream.shared) kept.stream.shared.position = kept.position;
    FS.streams.push(kept?.stream);
  }
}
