/** Channels for people: what each gets, what it was sent lately, its last answer, and how a message looks there. */
import type { ChannelBody } from '../../../api/channels/channels.ts';
import type { OverviewBody } from '../../../api/overview/overview.ts';
import type { SubscriberAttemptsBody } from '../../../api/subscribers/attempts.ts';
import { peopleKind } from '../../../channels/registry.ts';
import { PEOPLE_KINDS } from '../../../config/kinds/people-kinds.ts';
import { counted } from '../../../domain/values/counts.ts';
import { type JsonValue, stringifyExact } from '../../../domain/values/exact-json.ts';
import { refusalIn } from '../../frame/api-calls.ts';
import { type Html, html, NOTHING, tied } from '../../frame/html.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, page } from '../../frame/page-route.ts';
import { alertNote, type Fact, facts, flash, nothingHere, panel } from '../../parts/lists.ts';
import { messageCard, SHOWN_IN } from '../../parts/messages/message-card.ts';
import { excerptText, healthMark, outcomeMark, type Receiver, took, waitingText } from '../../parts/receivers.ts';
import { when } from '../../parts/time.ts';
import { type DeliveryPage, deliveryTable } from '../deliveries/table.ts';

const MOST_SENT = 5;

/** A test that a channel did not take whole. */
type FailedTest = { readonly name: string; readonly detail: string };

export const channelPages = [
  page('/channels', (ask) => view(ask, null)),
  action('/channels/:name/test', async (ask) => {
    const name = ask.params.name!;
    const path = `/v1/channels/${encodeURIComponent(name)}/test`;
    const { ok, messages, detail } = await ask.api.send<{ ok: boolean; messages: number; detail: string | null }>('POST', path);
    if (ok) return { goTo: `/channels?${new URLSearchParams({ done: 'test', channel: name })}#channel-${name.slice(1)}` };
    return view(ask, { name, detail: `It took ${counted(messages, 'message')}: ${detail ?? 'no reason is known'}` });
  }),
];

async function view(ask: Ask, failed: FailedTest | null): Promise<View> {
  const { api, query } = ask;
  const [{ data: channels }, overview] = await Promise.all([
    api.get<{ data: ChannelBody[] }>('/v1/channels'),
    api.get<OverviewBody>('/v1/overview'),
  ]);
  const panels = await Promise.all(channels.map((each) => channelPanel(each, overview, ask, failed)));
  const tested = query.done === 'test' ? channels.find(({ name }) => name === query.channel) : undefined;
  const done =
    tested !== undefined &&
    flash(`${tested.name} took ${counted(examplesOf(tested, ask).length, 'message')} marked as a test. Look there.`);
  const note =
    !(ask.mayOperate || channels.length === 0) && html`<p class="small">A key with the scope operate can send test messages.</p>`;
  const body = html`<div class="head"><h1 class="say">${tied(sentence(channels))}</h1><p class="sub">Channels alert people of incidents. The settings name them.</p></div>
<div class="stack">${done}${channels.length === 0 ? empty() : panels}${channels.length !== 0 && examplePanels(channels, ask)}${note}</div>`;
  return { title: 'Channels', place: 'channels', crumb: 'Channels', body, ...(failed !== null && { isLive: false }) };
}

function sentence(channels: readonly ChannelBody[]): string {
  if (channels.length === 0) return 'No channel is configured, so nobody is alerted of an incident.';
  const deaf = channels.filter(({ health }) => health.status !== 'ok');
  if (deaf.length === 0)
    return channels.length === 1 ? `${channels[0]!.name} takes alerts.` : `All ${channels.length} channels take alerts.`;
  return `${deaf.map(({ name, health }) => `${name} is ${health.status}`).join(', ')}. ${deaf.length === channels.length ? 'No alert arrives anywhere.' : 'The others take alerts.'}`;
}

function empty(): Html {
  return panel({
    id: 'none',
    title: 'Channels',
    body: nothingHere(
      'Each channel of Slack and of Microsoft Teams, each Alertmanager, and each system that pages people will be here. Until then incidents are shown on these pages and logged only.',
      'Make an incoming webhook in Slack (Apps, Incoming Webhooks), set its address for the daemon, and start it again:',
      html`<span class="copy"><pre id="slack-example" tabindex="0"><code>export SLACK_WEBHOOK_URL=https://hooks.slack.com/services/…
npx purchase-watch slack test</code></pre><button class="btn" type="button" data-copy="slack-example">Copy<span class="vh"> the commands</span></button></span>`,
    ),
  });
}

async function channelPanel(channel: ChannelBody, overview: OverviewBody, ask: Ask, failed: FailedTest | null): Promise<Html> {
  const { name, title } = channel;
  const sent = await sentLately(ask, name);
  const receiver = overview.subscribers.find((each) => each.name === name);
  const id = `channel-${name.slice(1)}`;
  const problem = failed?.name === name && alertNote(html`<bdi>${failed.detail}</bdi>`);
  const list =
    sent.deliveries.data.length === 0
      ? nothingHere('Nothing was sent to it yet. Its first alert will be here.')
      : deliveryTable(sent.deliveries, ask, { hasSubscriber: false });
  const shown =
    sent.message !== null &&
    html`<details class="same" id="${id}-message"><summary>The last message, ${SHOWN_IN[channel.kind]}</summary>${messageCard(channel.kind, sent.message, ask)}</details>`;
  return panel({
    id,
    title: name,
    note: title,
    right: healthMark(channel),
    body: html`<div class="body stack">${facts(factsOf(channel, receiver, sent.attempt, ask))}${problem}${testForm(channel, ask)}</div>${list}${shown}`,
    foot: html`<a href="${ask.base}/deliveries?subscriber=${encodeURIComponent(name)}">Everything that it was sent<span class="vh">: ${name}</span></a>`,
  });
}

/** The last deliveries to a channel, the body of the newest of these, and the last attempt. */
async function sentLately({ api }: Ask, name: string) {
  // A channel that is new to the settings has been sent nothing, and is no subscriber before a daemon has started with them.
  const [deliveries, attempts] = await Promise.all([
    api.get<DeliveryPage>('/v1/deliveries', { subscriber: name, limit: MOST_SENT }),
    api
      .get<SubscriberAttemptsBody>(`/v1/subscribers/${encodeURIComponent(name)}/attempts`, { limit: 1 })
      .catch((error: unknown) => {
        refusalIn(error, ({ status }) => status === 404);
        return { data: [] };
      }),
  ]);
  const [newest] = deliveries.data;
  const event = newest === undefined ? null : await api.get<JsonValue>(`/v1/deliveries/${newest.id}/event`);
  const message = event === null ? null : { type: newest!.event.type, body: stringifyExact(event) };
  return { deliveries, attempt: attempts.data[0], message };
}

const MODES = {
  auto: 'each by itself only while too little is known of a site to judge its page (auto)',
  each: 'each by itself, always (each)',
  incidents: 'never by themselves, only as incidents (incidents)',
} as const satisfies { readonly [Mode in ChannelBody['stuck']]: string };

function factsOf(
  channel: ChannelBody,
  receiver: Receiver | undefined,
  attempt: SubscriberAttemptsBody['data'][number] | undefined,
  { now }: Ask,
): Fact[] {
  const { sites, severity, stuck, paidTwice, maxPerHour, statusReason, health } = channel;
  const trouble = statusReason ?? health.lastError ?? health.ourError;
  const waits = receiver === undefined ? '' : waitingText(receiver);
  return [
    ['Incidents', severity === 'critical' ? 'critical ones alone' : 'warnings and critical ones'],
    ['Sites', sites === null ? 'all' : sites.join(', ')],
    ...(PEOPLE_KINDS[channel.kind].showsPresent
      ? ([['Again', 'each open incident every minute, until it is over: it shows what is wrong at present']] as const)
      : ([
          ['Single stuck checkouts', MODES[stuck]],
          ['Orders paid twice', paidTwice ? 'each, once' : 'never'],
          ['At most', maxPerHour === null ? 'no limit of messages' : `${counted(maxPerHour, 'message')} an hour`],
        ] as const)),
    [
      'Last answer',
      attempt === undefined
        ? 'none yet'
        : html`${outcomeMark(attempt)} ${excerptText(attempt.excerpt)}<small>${when(attempt.at, now)}, after ${took(attempt.tookMs)}</small>`,
    ],
    trouble !== null && ['Trouble', html`<bdi>${trouble}</bdi>`],
    waits !== '' && ['Waiting', waits],
  ];
}

function testForm(channel: ChannelBody, ask: Ask): Html {
  const { name, title } = channel;
  if (!ask.mayOperate) return NOTHING;
  return html`<form class="acts" method="post" action="${ask.base}/channels/${encodeURIComponent(name)}/test"><button class="btn">Send ${counted(examplesOf(channel, ask).length, 'test message')} to ${name}</button><span class="small">Everybody in the channel sees them; each is marked as a test. ${title} is asked at once, which takes some seconds.</span></form>`;
}

/** How the test messages look. */
function examplePanels(channels: readonly ChannelBody[], ask: Ask): Html[] {
  const kinds = [...new Map(channels.map((channel) => [channel.kind, channel])).values()];
  return kinds.map((channel) =>
    panel({
      id: `examples-${channel.kind}`,
      title: `The test messages, ${SHOWN_IN[channel.kind]}`,
      note: 'with made-up names and numbers',
      body: html`${examplesOf(channel, ask).map((event, at) => html`<details class="same" id="example-${channel.kind}-${at}"${at === 0 && html` open`}><summary>${EXAMPLE_NAMES[at] ?? event.type}</summary>${messageCard(channel.kind, event, ask)}</details>`)}`,
    }),
  );
}

const examplesOf = ({ kind }: ChannelBody, { now }: Ask) => peopleKind(kind).examples(now, 'typical');

const EXAMPLE_NAMES = ['An incident that has just been found', 'An incident that is over', 'Single stuck checkouts'];
