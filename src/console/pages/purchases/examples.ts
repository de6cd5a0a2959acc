/** How the first purchase is registered: by HTTP, command line and SQL, ready to copy. */
import { commandLine } from '../../../domain/values/command-line.ts';
import { type Html, html } from '../../frame/html.ts';

const ID = '2f1c9a7e-51b3-4c0e-9d7a-0e6b4f1d2c11';

/** The examples in place of a list of purchases. */
export function examples(origin: string): Html {
  const http = `curl -X POST ${origin}/v1/purchases \\\n  -H 'content-type: application/json' \\\n  -d '{"purchaseId": "${ID}", "reference": "ORD-1"}'`;
  const command = `npx ${commandLine`watch ${ID}`} \\\n  --reference ORD-1`;
  const sql = `insert into purchase_watch.purchases (purchase_id)\nvalues ('${ID}')\non conflict do nothing;`;
  return html`<div class="body stack"><p>Each purchase that is registered stands here, with its state. Register one that exists: its first poll is made within a second, and this page fills by itself. In your shop, do this where you negotiate the purchase.</p>
${example('HTTP', 'example-http', http)}${example('Command line', 'example-command', command)}${example('SQL', 'example-sql', sql)}
<p class="small">Where keys are configured, the call needs the header <code>Authorization: Bearer …</code> with a key that has the scope register.</p></div>`;
}

function example(title: string, id: string, code: string): Html {
  return html`<div><h2>${title}</h2><div class="copy"><pre id="${id}" tabindex="0"><code>${code}</code></pre><button class="btn" type="button" data-copy="${id}">Copy<span class="vh"> the example for ${title}</span></button></div></div>`;
}
