/** Addresses to open and commands to try after the story. */

import { isAbsolute, join, relative } from 'node:path';
import type { Control } from '../../../packages/simulator/src/contract/control.ts';
import { commandLine, shellWord } from '../../domain/values/command-line.ts';
import { wall } from '../../runtime/time.ts';
import { BROKEN_SITE } from '../cast/settings.ts';

/** Purchases with such ids are at the service and not registered: that is left to the person who watches. */
const UNREGISTERED = 'try-';

/** Whether a new purchase is one that a person is to register by hand. */
export function isLeftToTheReader(purchaseId: string): boolean {
  return purchaseId.startsWith(UNREGISTERED);
}

/** Makes purchases to try with; they wait in New until they are watched. Answers their ids. */
export function purchasesToTry(control: Control): { command: string; sql: string; api: string } {
  // The database remembers the ids of earlier runs.
  const run = Math.floor(wall() / 1_000).toString(36);
  const add = (name: string): string =>
    control.add({
      purchaseId: `${UNREGISTERED}${name}-${run}`,
      site: BROKEN_SITE,
      script: [
        { state: 'New' },
        { state: 'BeingProcessed', afterPolls: 2 },
        { state: 'WaitingForCardPayments', afterPolls: 2 },
        { state: 'Completed', afterPolls: 2 },
      ],
    }).purchaseId;
  return { command: add('command'), sql: add('sql'), api: add('api') };
}

/** A path as one would type it here. */
export function typed(path: string): string {
  const short = relative(process.cwd(), path);
  return short === '' || short.startsWith('..') || isAbsolute(short) ? path : short;
}

export interface HintParts {
  readonly home: string;
  readonly file: string;
  readonly apiUrl: string;
  readonly checkoutUrl: string;
  readonly databaseFile: string;
  readonly ids: ReturnType<typeof purchasesToTry>;
}

/** Titles, and the commands below them, which begin with blanks. */
export function hints({ home, file, apiUrl, checkoutUrl, databaseFile, ids }: HintParts): string[] {
  const header = shellWord(join(typed(home), 'authorization'));
  return [
    'In another terminal',
    `  export DATA_DIR=${shellWord(typed(home))}`,
    `  export PURCHASE_WATCH_CONFIG=${shellWord(typed(file))}`,
    '  npx purchase-watch status',
    '  npx purchase-watch audit',
    '  npx purchase-watch open --print',
    'Register a purchase yourself, in any of three ways, and see it move',
    `  npx ${commandLine`watch ${ids.command} --site ${BROKEN_SITE}`}`,
    `  curl -H @${header} \\`,
    `    -H "content-type: application/json" ${apiUrl}/v1/purchases \\`,
    `    -d '{"purchaseId": "${ids.api}", "site": "${BROKEN_SITE}"}'`,
    `  psql "$(cat ${shellWord(typed(databaseFile))})" \\`,
    `    -c "select purchase_watch.watch('${ids.sql}', site => '${BROKEN_SITE}')"`,
    `Break more at the simulated service: ${checkoutUrl}/control`,
    'Your own shop: npx purchase-watch init asks for the settings that are needed',
  ];
}
