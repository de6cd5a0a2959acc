/** The HTTP API for programs: mounts the resources; access; failures to problems. */

import type { Examiner } from '../actions/doctor/doctor.ts';
import { ownFindings } from '../actions/doctor/system.ts';
import { createFeedHub, type FeedHub } from '../actions/events/feed-hub.ts';
import { isKeyless } from '../config/api-keys.ts';
import { channelRules } from '../config/channels.ts';
import type { DescribedSetting } from '../config/describe.ts';
import type { Settings } from '../config/settings.ts';
import { DAY, type Milliseconds } from '../domain/values/time.ts';
import type { Sql } from '../postgres/connection/database.ts';
import { recordAction } from '../postgres/console/actions.ts';
import { createLimits, type Limits } from '../postgres/stays/limits.ts';
import { seenCertificates } from '../runtime/http/certificates.ts';
import type { Logger } from '../runtime/logger.ts';
import type { Health } from '../runtime/loops/health.ts';
import { createMeters } from '../runtime/meters.ts';
import type { Secrets } from '../runtime/secrets/secrets.ts';
import { mountActions } from './access/actions.ts';
import { mountKey } from './access/key.ts';
import { createLineBudget, type LineBudget } from './access/line-budget.ts';
import { mountSessions } from './access/sessions.ts';
import { type ChannelParts, mountChannels } from './channels/channels.ts';
import { mountEvents } from './events/events.ts';
import { mountStream } from './events/stream.ts';
import { createStreamPlaces, placeLimits, type StreamPlaces } from './events/stream-places.ts';
import { mountActivity } from './health/activity.ts';
import { mountDoctor } from './health/doctor.ts';
import { mountFlow } from './health/flow.ts';
import type { Engine } from './health/metric.ts';
import { mountOverview } from './health/overview.ts';
import { mountSite } from './health/site.ts';
import { mountSystem } from './health/system.ts';
import type { Api } from './http/definitions.ts';
import { mountCustomers } from './incidents/customers.ts';
import { mountIncidents } from './incidents/incidents.ts';
import { mountRehearsals } from './incidents/rehearsals.ts';
import { mountSilences } from './incidents/silences.ts';
import { createOperations, type OperationsParts } from './operations.ts';
import { mountForget } from './purchases/forget.ts';
import { type InvoiceParts, mountInvoice } from './purchases/invoice.ts';
import { mountPurchaseList } from './purchases/list.ts';
import { mountMany } from './purchases/many.ts';
import { mountPoll } from './purchases/poll.ts';
import { mountPurchases } from './purchases/purchases.ts';
import { mountRegistration } from './purchases/registration.ts';
import { mountRemarks } from './purchases/remarks.ts';
import { mountWhy } from './purchases/why.ts';
import { mountBook } from './reference/book.ts';
import { mountDocument } from './reference/document.ts';
import { mountSubscriberActions } from './subscribers/actions.ts';
import { mountAttempts } from './subscribers/attempts.ts';
import { mountDeliveries } from './subscribers/deliveries.ts';
import { mountRetryAll } from './subscribers/retry-all.ts';
import { mountSubscribers } from './subscribers/subscribers.ts';
import { mountWaiting } from './subscribers/waiting.ts';

export interface ApiParts {
  readonly sql: Sql;
  /** Connections for what changes something and may wait for a lock; those of readers without it. */
  readonly changes?: Sql;
  /** Connections for readiness and metrics; those of readers without it. */
  readonly operators?: Sql;
  readonly databaseUrl: string;
  readonly settings: Pick<
    Settings,
    'apiKeys' | 'sites' | 'policy' | 'webhooks' | 'subscribers' | 'channels' | 'slack' | 'origins'
  >;
  /** Encrypts what is stored of subscribers; without it nothing secret can be stored. */
  readonly secrets?: Secrets | null;
  readonly health: Health;
  /** The id of this replica; '' where nothing runs. */
  readonly replica?: string;
  readonly log: Logger;
  /** The budget of the process for lines that callers can cause; one of its own without it. */
  readonly lines?: LineBudget;
  /** Wakes readers that wait for events; without one they look every few seconds. */
  readonly feed?: FeedHub;
  /** Places for event streams, shared with open pages of the console; those of a thousand connections without it. */
  readonly places?: StreamPlaces;
  /** How long a stream says nothing at most; 15 s without it. */
  readonly silence?: Milliseconds;
  /** When stays become stuck; absent where nothing polls: then by the settings alone. */
  readonly limits?: Limits;
  /** What is counted in /metrics; absent where nothing polls. */
  readonly engine?: Engine;
  /** The settings with their origin and without secrets; absent where nothing polls: then none is shown. */
  readonly describe?: () => readonly DescribedSetting[];
  /** Absent where nothing polls: then no site can be asked. */
  readonly invoiceOf?: InvoiceParts['invoiceOf'];
  /** Absent where nothing runs: then nothing is found. */
  readonly examine?: Examiner;
  /** Folder of the documentation as `npm run docs` builds it; the one of this package without it. */
  readonly book?: string;
  /** Absent where nothing delivers: then no channel can be tried. */
  readonly testChannel?: ChannelParts['testChannel'];
}

/** Builds the API. It needs no server: `fetch` answers requests. */
export function createApi({ sql, settings, secrets = null, health, log, feed = createFeedHub(sql), ...parts }: ApiParts): Api {
  const { changes = sql, operators = sql, engine = NOTHING_RUNS, invoiceOf = nobodyAsks } = parts;
  const { testChannel = nobodySends, places = createStreamPlaces(placeLimits(1_000)) } = parts;
  const { limits = createLimits({ sql, clock: { now: () => Date.now() }, policy: settings.policy }) } = parts;
  const { lines = createLineBudget(log), replica = '' } = parts;
  const record: OperationsParts['record'] = (action) => recordAction(changes, action);
  const app = createOperations({ operators, settings, health, replica, log, lines, engine, record });
  mountRegistration(app, { sql: changes, sites: settings.sites });
  mountPurchaseList(app, { sql });
  mountPurchases(app, { sql, changes, limits });
  mountMany(app, { sql: changes, secrets });
  mountPoll(app, { sql, changes });
  mountEvents(app, { feed });
  mountStream(app, { feed, log, lines, places, silence: parts.silence });
  // A host that is in use is dialled each day; of one that left the settings, nothing needs a person after a day.
  const own = () => ownFindings(sql, settings, [...engine.certificates(), ...seenCertificates(DAY)]);
  mountOverview(app, { sql, own });
  mountFlow(app, { sql, limits });
  mountActivity(app, { sql });
  const keyless = isKeyless(settings.apiKeys);
  mountSystem(app, { sql, own, keys: keyless ? [] : settings.apiKeys, describe: parts.describe ?? (() => []) });
  mountDoctor(app, { examine: parts.examine ?? (async () => []) });
  mountSite(app, { sql, limits, sites: settings.sites });
  mountKey(app);
  mountActions(app, { sql });
  mountSessions(app, { sql, changes });
  mountInvoice(app, { sql, changes, invoiceOf });
  const channels = channelRules(settings);
  mountWhy(app, { sql, limits, schedule: settings.webhooks.schedule, channels });
  const known = { sites: settings.sites.map((site) => site.name), webhooks: settings.webhooks };
  mountRemarks(app, { sql });
  mountForget(app, { changes });
  mountSubscribers(app, { sql, changes, secrets, known, configured: settings.subscribers });
  const { concurrency } = settings.webhooks;
  mountSubscriberActions(app, { sql: changes, secrets, configured: settings.subscribers, concurrency });
  mountAttempts(app, { sql });
  mountWaiting(app, { sql, concurrency });
  mountRetryAll(app, { sql: changes, secrets, concurrency });
  mountDeliveries(app, { sql, changes });
  mountChannels(app, { sql, channels: settings.channels, testChannel });
  mountIncidents(app, { sql, changes, alerts: settings.slack });
  mountCustomers(app, { sql });
  mountSilences(app, { sql, changes, secrets });
  mountRehearsals(app, { sql, sites: known.sites, settings });
  mountDocument(app);
  mountBook(app, parts.book);

  return app;
}

const nobodyAsks: InvoiceParts['invoiceOf'] = async () => ({ kind: 'unconfigured', retryAfter: 0 });

const nobodySends: ChannelParts['testChannel'] = async () => ({
  ok: false,
  messages: 0,
  detail: 'Nothing is delivered from here.',
});

const NOTHING_RUNS: Engine = {
  meters: createMeters(),
  shardsOwned: () => 0,
  unwritten: () => 0,
  pools: [],
  certificates: () => [],
};
