/** The settings of the demo: a file that one can read, as anybody's would be, with shorter times. */

import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadSettings } from '../../config/load-settings.ts';
import { randomBytes } from '../../runtime/random.ts';

const SITES = ['demo-se', 'demo-fi'] as const;
/** Where the page breaks. */
export const BROKEN_SITE = SITES[0];
export const BROKEN_STATE = 'WaitingForCardPayments';
export const CREDENTIALS = { clientId: 'demo-client', clientSecret: 'demo-secret' };

const STUCK_AFTER = '10s';
const GROUP_WAIT = '10s';

/** The short times, shown to the person who watches. */
export const SHORT_TIMES = `stuck after ${STUCK_AFTER}, not 15m; Slack gathers for ${GROUP_WAIT}, not 30s`;

/** A signing secret for this run. */
export function newSecret(): string {
  return `whsec_${randomBytes(32).toString('base64')}`;
}

export interface DemoPlaces {
  /** The demo's folder. */
  readonly home: string;
  readonly checkoutUrl: string;
  readonly shopUrl: string;
  readonly secret: string;
  readonly slackUrl: string;
  /** Where people open the console. */
  readonly consoleUrl: string;
}

/** Writes the file and reads it as the daemon would; answers where it is, and what it says. */
export function demoSettings(places: DemoPlaces) {
  const file = join(places.home, 'settings.yaml');
  writePrivately(file, fileText(places));
  const env = {
    PURCHASE_WATCH_CONFIG: file,
    DATA_DIR: places.home,
    SLACK_WEBHOOK_URL: places.slackUrl,
    CONSOLE_URL: places.consoleUrl,
  };
  // Problems are shown here, not by a process that ends.
  return { env, file, settings: loadSettings(env) };
}

/** Writes a file that holds a secret. */
export function writePrivately(file: string, text: string): void {
  // The mode counts only for a file that is new.
  rmSync(file, { force: true });
  writeFileSync(file, text, { mode: 0o600 });
}

const POLL = 'poll: { first: 1s, most: 3s }';
const WAITING = [
  'New',
  'BeingProcessed',
  'WaitingForEidApp',
  'WaitingForFinnishDirectPayment',
  'WaitingForMobilePayment',
  'ElectronicIdValidationRequired',
];

/** The part of a settings file that makes times as short as the lives of the demo's customers. */
export const SHORT_TIMES_TEXT = `states:
${WAITING.map((state) => `  ${state}: { ${POLL} }`).join('\n')}
  WaitingForIdentityProvider: { ${POLL}, stuckAfter: ${STUCK_AFTER} }   # 10m unless set
  WaitingForCardPayments: { ${POLL}, stuckAfter: ${STUCK_AFTER} }       # 15m unless set
  WaitingCreditApproval: { poll: { first: 5s, most: 1m } }
slack: { groupWait: ${GROUP_WAIT}, quietFor: ${GROUP_WAIT}, groupInterval: 30s, repeatInterval: 10m }   # 30s, 10m, 5m and 4h unless set
`;

function fileText({ checkoutUrl, shopUrl, secret }: DemoPlaces): string {
  const site = `{ baseUrl: ${checkoutUrl}, clientId: ${CREDENTIALS.clientId}, clientSecret: ${CREDENTIALS.clientSecret}, timeout: 5s, invoices: true }`;
  return `# Settings of the demo, written again at each start. The times are short, so that you see within a minute
# what usually takes a quarter of an hour.
sites:
${SITES.map((name) => `  ${name}: ${site}`).join('\n')}
${SHORT_TIMES_TEXT}subscribers:
  shop: { url: ${shopUrl}, secret: ${secret} }
webhooks:
  schedule: [1s, 5s, 30s]
  allowAddresses: [127.0.0.0/8]   # the demo's shop is on this machine; public addresses need no such line
`;
}
