/** The system: versions, replicas and shards, findings, keys and settings with their origin. */
import type { DoctorBody } from '../../../api/overview/doctor.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SystemBody } from '../../../api/overview/system.ts';
import { counted } from '../../../domain/values/counts.ts';
import { wall } from '../../../runtime/time.ts';
import { type Html, html, number } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import { facts, nothingHere, panel } from '../../parts/lists.ts';
import { when } from '../../parts/time.ts';
import { doctorPanel, findingList } from './doctor.ts';

const SHARDS = 64;

export const systemPages = [
  page('/system', (ask) => view(ask, null)),
  // The address after a run: asked for again, it runs nothing.
  page('/system/doctor', (ask) => view(ask, null)),
  action('/system/doctor', async (ask) => {
    const found = await ask.api.send<DoctorBody>('POST', '/v1/doctor', { send: ask.form.send === 'on' });
    return view({ ...ask, now: wall() }, found);
  }),
];

/** `doctor`: what a run just now found; null without a run. */
async function view(ask: Ask, doctor: DoctorBody | null): Promise<View> {
  const [system, { replicas, headline }] = await Promise.all([
    ask.api.get<SystemBody>('/v1/system'),
    ask.api.get<OverviewBody>('/v1/overview'),
  ]);
  const { versions, database } = system;
  const about = facts([
    ['Package', versions.package],
    ['Node.js', versions.node],
    ['Postgres', versions.postgres],
    ['Schema', `migration ${versions.schema}`],
    ['Connections', `${number(database.connections)} of ${number(database.maxConnections)} of the database`],
  ]);
  const body = html`<div class="head"><h1 class="say" data-said>${sentence(headline, replicas)}</h1><p class="sub">What was changed, by whom and from where, is in <a href="${ask.base}/system/actions">Actions</a>, who is signed in, in <a href="${ask.base}/system/sessions">Sessions</a>.</p></div>
<div class="stack">${findingsPanel(system)}${doctorPanel(doctor, ask)}<div class="two even">${replicasPanel(replicas, ask)}${panel({ id: 'versions', title: 'Versions', body: html`<div class="body">${about}</div>` })}</div>${keysPanel(system, ask)}${settingsPanel(system)}</div>`;
  return { title: 'System', place: 'system', crumb: 'System', body, ...(doctor !== null && { isLive: false }) };
}

function sentence({ text }: OverviewBody['headline'], replicas: OverviewBody['replicas']): string {
  return replicas.length === 0 ? text : `${counted(replicas.length, 'replica runs', 'replicas run')}. ${text}`;
}

function findingsPanel({ findings }: SystemBody): Html {
  return panel({ id: 'findings', title: 'Findings', note: 'what doctor finds in the database', body: findingList(findings) });
}

function replicasPanel(replicas: OverviewBody['replicas'], { now }: Ask): Html {
  const row = ({ id, shards, startedAt }: OverviewBody['replicas'][number]): Html =>
    html`<tr><th scope="row"><span class="id">${id}</span></th><td class="num" data-l="shards">${shards} of ${SHARDS}</td><td data-l="started">${when(startedAt, now)}</td></tr>`;
  const body =
    replicas.length === 0
      ? nothingHere('No replica runs, so nothing is polled or sent.', html`Start one: <code>npx purchase-watch start</code>`)
      : html`<table class="cards fits"><thead><tr><th scope="col">Replica</th><th scope="col" class="num">Shards</th><th scope="col">Started</th></tr></thead><tbody>${replicas.map(row)}</tbody></table>`;
  return panel({ id: 'replicas', title: 'Replicas', body });
}

function keysPanel({ keys }: SystemBody, { now }: Ask): Html {
  const row = ({ name, scopes, expiresAt }: SystemBody['keys'][number]): Html =>
    html`<tr><th scope="row"><bdi>${name}</bdi></th><td data-l="may">${scopes.join(', ')}</td><td data-l="ends">${when(expiresAt, now)}</td></tr>`;
  const body =
    keys.length === 0
      ? nothingHere(
          'No keys are set: programs on this machine call with the file authorization in DATA_DIR, and people come by the link of purchase-watch open.',
          html`For others, set <code>API_KEY</code>, or <code>api.keys</code> in the settings file.`,
        )
      : html`<table class="cards fits"><thead><tr><th scope="col">Key</th><th scope="col">May</th><th scope="col">Ends</th></tr></thead><tbody>${keys.map(row)}</tbody></table>`;
  return panel({ id: 'api-keys', title: 'Keys of the API', body });
}

function settingsPanel({ settings }: SystemBody): Html {
  const row = ({ name, text, origin }: SystemBody['settings'][number]): Html =>
    html`<tr><th scope="row" class="wide"><code>${name}</code></th><td class="wide">${text}</td><td class="mute wide">${origin}</td></tr>`;
  return panel({
    id: 'settings',
    title: 'Settings',
    note: 'as purchase-watch config shows them, without secrets; changed in the environment or the settings file, then a restart',
    body: html`<table class="cards fits"><thead><tr><th scope="col">Setting</th><th scope="col">Value</th><th scope="col">From</th></tr></thead><tbody>${settings.map(row)}</tbody></table>`,
  });
}
