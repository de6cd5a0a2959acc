/** Where the package lies: the folder with bin, migrations and assets, the same from the sources of a clone and from `dist`. */
import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';

export const PACKAGE_FOLDER = dirname(findPackageJSON(import.meta.url)!);
