/** The keys of the console, and the dialog that lists them and switches them off. */
import { type Html, html } from './html.ts';

const GROUPS = {
  Go: {
    'g n': 'Now',
    'g h': 'How it was an hour ago',
    'g t': 'Trends',
    'g i': 'Incidents',
    'g p': 'Purchases',
    'g s': 'Sites',
    'g u': 'Subscribers',
    'g d': 'Deliveries',
    'g c': 'Channels',
    'g l': 'Silences',
    'g r': 'Rehearse',
    'g y': 'System',
  },
  'In a list': {
    j: 'Next row',
    k: 'Row before',
    Enter: 'Open the row',
    x: 'Choose the row',
    n: 'Show the new rows',
    '← →': 'From time to time in a row',
    '← → ↑ ↓': 'From cell to cell of hours',
  },
  'At a past time': {
    '← →': 'Hour before, after',
    'Shift ← →': 'Day before, after',
    '[ ]': 'Incident before, after',
    Home: 'Back to now',
  },
  Anywhere: {
    '/': 'Find a purchase',
    p: 'Pause updates, or go on',
    t: 'Exact times, or relative',
    '?': 'These keys',
    Esc: 'Close, leave a field',
  },
};

/** The dialog, closed. The script opens it, and remembers the switch in the browser. */
export function keysDialog(): Html {
  const row = ([keys, does]: [string, string]): Html =>
    html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${does}</dd></div>`;
  return html`<dialog id="keys" class="keys-box" aria-labelledby="keys-h"><form method="dialog"><div class="top"><h2 id="keys-h">Keys</h2><button class="btn" autofocus>Close <kbd>Esc</kbd></button></div>
<div class="keys-groups">${Object.entries(GROUPS).map(([name, keys]) => html`<section><h3>${name}</h3><dl>${Object.entries(keys).map(row)}</dl></section>`)}</div>
<div class="end"><label class="inline"><input type="checkbox" id="keys-on" checked> Keys are on</label><span>No key changes data. In a field they do nothing.</span></div></form></dialog>`;
}
