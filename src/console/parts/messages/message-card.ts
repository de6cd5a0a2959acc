/** An event for people as its channel shows it: in Slack, in Teams, as mail, in Alertmanager, or as the program that pages people gets it. */
import { type Alert, alertsOf } from '../../../channels/alertmanager/alerts.ts';
import { emailMessage } from '../../../channels/email/message.ts';
import { slackMessage } from '../../../channels/slack/message.ts';
import { teamsMessage } from '../../../channels/teams/card.ts';
import type { PeopleKind } from '../../../config/kinds/people-kinds.ts';
import { type Html, html } from '../../frame/html.ts';
import type { Ask } from '../../frame/page-route.ts';
import { when } from '../time.ts';
import { slackCard } from './slack-card.ts';
import { teamsCard } from './teams-card.ts';

export interface ShownEvent {
  readonly type: string;
  /** The text that is stored and sent. */
  readonly body: string;
}

/** Draws the event, with the links that the message has where the settings name the console's address. */
export function messageCard(kind: PeopleKind, { type, body }: ShownEvent, { now, consoleUrl }: Ask): Html {
  switch (kind) {
    case 'slack':
      return slackCard(slackMessage(body, { consoleUrl }));
    case 'teams':
      return teamsCard(teamsMessage(body, { consoleUrl }));
    case 'email':
      return html`<div class="body"><pre class="mail" tabindex="0" role="group" aria-label="The message">${emailMessage(body, { consoleUrl }).text}</pre></div>`;
    case 'alertmanager':
      return alertCards(alertsOf({ id: '', type, body }, { now, consoleUrl }), now);
    case 'alerts':
      return html`<div class="body"><p class="small">The whole event as signed JSON: the program that takes it decides what people see.</p><pre class="json" tabindex="0" role="group" aria-label="The event">${JSON.stringify(JSON.parse(body), null, 2)}</pre></div>`;
  }
}

/** How a channel's messages are called above one. */
export const SHOWN_IN = {
  slack: 'as Slack shows it',
  teams: 'as Teams shows it',
  email: 'as mail programs show it',
  alertmanager: 'as Alertmanager shows it',
  alerts: 'as the program gets it',
} as const satisfies Readonly<Record<PeopleKind, string>>;

/** The firing alert of an incident, or the one that has ended; the other severities of it are never shown by Alertmanager. */
function alertCards(alerts: readonly Alert[], now: number): Html {
  const firing = alerts.find(({ endsAt }) => Date.parse(endsAt) > now);
  const alert = firing ?? alerts[0];
  if (alert === undefined) return html`<p class="body small">Alertmanager gets incidents alone, so it is not sent this one.</p>`;
  const { labels, annotations, startsAt, endsAt, generatorURL } = alert;
  const says = firing === undefined ? 'resolved' : 'active';
  const ends = firing !== undefined && html`, ends ${when(endsAt, now)} unless it is repeated`;
  const link = generatorURL !== undefined && html`<a href="${generatorURL}" rel="noreferrer">Source</a>`;
  const named = Object.entries(labels).map(([name, value]) => html`<li><bdi>${name}="${value}"</bdi></li>`);
  const texts = Object.entries(annotations).map(
    ([name, value]) => html`<dt>${name}</dt><dd>${value.split('\n').map((line) => html`<bdi>${line}</bdi><br>`)}</dd>`,
  );
  return html`<div class="message alert"><p class="who"><b>${says}</b> <span>since ${when(startsAt, now)}${ends}</span> ${link}</p><ul class="labels">${named}</ul><dl>${texts}</dl></div>`;
}
