/** Styles, scripts and pictures of the pages: from this package and htmx, each under an address that holds its hash. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Handler } from 'hono';
import { PACKAGE_FOLDER } from '../../runtime/process/package-folder.ts';

const FOLDER = join(PACKAGE_FOLDER, 'assets');
const TYPES = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};
const FOREVER = 'public, max-age=31536000, immutable';

/** An asset of these files, one after the other. */
function assetOf(name: string, ...files: readonly string[]) {
  const bytes = Buffer.concat(files.map((file) => readFileSync(file)));
  const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 12);
  const [base, extension] = [name.slice(0, -extname(name).length), extname(name)];
  const address = `/assets/${base}.${hash}${extension}`;
  return { address, type: TYPES[extension as keyof typeof TYPES], bytes, br: brotliCompressSync(bytes), gzip: gzipSync(bytes) };
}

const joined = (name: string, files: readonly string[]) => assetOf(name, ...files.map((each) => join(FOLDER, each)));
/** The build copies it: of that package's 1.5 MB, browsers need 13 kB. */
const HTMX = import.meta.filename.endsWith('.js')
  ? join(PACKAGE_FOLDER, 'dist', 'htmx.js')
  : fileURLToPath(import.meta.resolve('htmx.org/dist/htmx.min.js'));

/** Read once, when the console is opened. */
const ASSETS = {
  // One file: a page is painted when all of its styles are there.
  styles: joined('console.css', [
    ...['tokens.css', 'console.css'],
    ...['now.css', 'then.css', 'incidents.css', 'purchases.css', 'deliveries.css', 'live.css', 'forms.css'].map(
      (name) => `pages/${name}`,
    ),
  ]),
  script: joined('console.js', ['console.js', 'keys.js', 'still.js', 'pages/purchases.js']),
  icon: joined('icon.svg', ['icon.svg']),
  htmx: assetOf('htmx.js', HTMX),
};
const BY_ADDRESS = new Map(Object.values(ASSETS).map((asset) => [asset.address, asset]));

/** Addresses by name, below the console's base. */
export const assetAddresses = Object.fromEntries(
  Object.entries(ASSETS).map(([name, { address }]) => [name, address]),
) as Readonly<Record<keyof typeof ASSETS, string>>;

/** Answers a file in the smallest form that the browser takes; undefined when there is none at the address. */
export const serveAsset: Handler = (c) => {
  const asset = BY_ADDRESS.get(c.req.path);
  if (asset === undefined) return c.notFound();
  const accepted = c.req.header('accept-encoding') ?? '';
  const encoding = /\bbr\b/.test(accepted) ? 'br' : /\bgzip\b/.test(accepted) ? 'gzip' : null;
  return c.body(encoding === null ? asset.bytes : asset[encoding], 200, {
    'content-type': asset.type,
    'cache-control': FOREVER,
    vary: 'accept-encoding',
    ...(encoding !== null && { 'content-encoding': encoding }),
  });
};
