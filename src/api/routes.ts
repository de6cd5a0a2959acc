/** The HTTP API for programs: mounts the resources; access; failures to problems. */

import { ownFindings } from '../actions/doctor/system-page.ts';
import { createFeedHub } from '../actions/events/feed-hub.ts';
import { createStayLimits } from '../actions/flow/stay-limits.ts';
import { recordAction } from '../actions/recorded.ts';
import { DAY } from '../domain/values/time.ts';
import { seenCertificates } from '../runtime/http/certificates.ts';
import { createMeters } from '../runtime/meters.ts';
import { wall } from '../runtime/time.ts';
import { mountActions } from './access/actions.ts';
import { createLineBudget, type LineBudget } from './access/line-budget.ts';
import { mountKey } from './access/own-key.ts';
import { mountSessions } from './access/sessions.ts';
import { mountChannels } from './channels/channels.ts';
import { mountEvents } from './events/events.ts';
import { mountStream } from './events/stream.ts';
import { createStreamPlaces, placeLimits, type StreamPlaces } from './events/stream-places.ts';
import { mountActivity } from './flow/activity.ts';
import { mountFlow } from './flow/flow.ts';
import { mountSite } from './flow/site.ts';
import type { Api, ApiDeps } from './http/route.ts';
import { mountAftermath } from './incidents/aftermath.ts';
import { mountCustomers } from './incidents/customers.ts';
import { mountIncidents } from './incidents/incidents.ts';
import { mountRehearsals } from './incidents/rehearsals.ts';
import { mountSilences } from './incidents/silences.ts';
import type { Engine } from './metrics/metric.ts';
import { createOperations } from './operations.ts';
import { mountDoctor } from './overview/doctor.ts';
import { mountOverview } from './overview/overview.ts';
import { mountSystem } from './overview/system.ts';
import { mountThen } from './overview/then.ts';
import { mountForget } from './purchases/forget.ts';
import { mountInvoice } from './purchases/invoice.ts';
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
import { mountMarks } from './trends/marks.ts';
import { mountTrends } from './trends/trends.ts';

/** Everything that calls stand on, with the parts of streams and metrics. */
type AllDeps = ApiDeps & {
  /** The budget of the process for lines that callers can cause; one of its own without it. */
  readonly lines: LineBudget;
  /** Places for event streams, shared with open pages of the console; those of a thousand connections without it. */
  readonly places: StreamPlaces;
  /** Counted in /metrics; nothing where nothing runs. */
  readonly engine: Engine;
};

/** All but the first four have defaults: those of a process in which nothing polls or delivers. */
export type ApiParts = Pick<AllDeps, 'sql' | 'settings' | 'health' | 'log'> & Partial<AllDeps>;

/** In the order of the OpenAPI document. Of two calls that fit an address the first one answers. */
const CALLS: readonly ((app: Api, deps: AllDeps) => void)[] = [
  mountRegistration,
  mountPurchaseList,
  mountPurchases,
  mountMany,
  mountPoll,
  mountEvents,
  mountStream,
  mountOverview,
  mountThen,
  mountFlow,
  mountMarks,
  mountTrends,
  mountActivity,
  mountSystem,
  mountDoctor,
  mountSite,
  mountKey,
  mountActions,
  mountSessions,
  mountInvoice,
  mountWhy,
  mountRemarks,
  mountForget,
  mountSubscribers,
  mountSubscriberActions,
  mountAttempts,
  mountWaiting,
  mountRetryAll,
  mountDeliveries,
  mountChannels,
  mountIncidents,
  mountAftermath,
  mountCustomers,
  mountSilences,
  mountRehearsals,
  mountDocument,
  mountBook,
];

/** Builds the API. It needs no server: `fetch` answers requests. */
export function createApi(parts: ApiParts): Api {
  const { sql, settings, log, changes = sql, engine = NOTHING_RUNS } = parts;
  const deps: AllDeps = {
    changes,
    operators: sql,
    secrets: null,
    replica: '',
    feed: createFeedHub(sql),
    silence: 15_000,
    limits: createStayLimits({ sql, clock: { now: wall }, policy: settings.policy }),
    engine,
    lines: createLineBudget(log),
    places: createStreamPlaces(placeLimits(1_000)),
    describe: () => [],
    // A host that is in use is dialled each day; of one that left the settings, nothing needs a person after a day.
    own: () => ownFindings(sql, settings, [...engine.certificates(), ...seenCertificates(DAY)]),
    examine: async () => [],
    invoiceOf: async () => ({ kind: 'unconfigured', retryAfter: 0 }),
    testChannel: async () => ({ ok: false, messages: 0, detail: 'Nothing is delivered from here.' }),
    ...parts,
  };
  const app = createOperations({ ...deps, record: (action) => recordAction(changes, action) });
  for (const mount of CALLS) mount(app, deps);
  return app;
}

const NOTHING_RUNS: Engine = {
  meters: createMeters(),
  shardsOwned: () => 0,
  unwritten: () => 0,
  pools: [],
  certificates: () => [],
};
