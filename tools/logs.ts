/**
 * The events of the log as a page: levels and fields from the daemon's own table, meanings and remedies from the tables below. Run
 * by itself it writes docs/logs.md.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOG_EVENTS, type LogEvent } from '../src/runtime/log-events.ts';
import { FIELDS } from './log-fields.ts';

const ROOT = join(import.meta.dirname, '..');

/** When each line is written, and where the line itself does not say it, what to do. The type refuses an event without a meaning. */
const MEANINGS: Readonly<Record<LogEvent, string>> = {
  'address.unencrypted': 'At the start: calls to an address go out unencrypted.',
  'alert.not_repeated':
    'An Alertmanager did not take an open incident again; the incident is sent as a delivery until the Alertmanager takes it. Once per outage.',
  'api.action_not_recorded':
    'A change by an operator was made, and its row for the page of actions was not. This line stands for it.',
  'api.answered': 'A request was answered.',
  'api.changed': 'A call that changes something was answered, also with a 5xx, which may have changed something.',
  'api.closed':
    'At the start: no key is set, and `DATA_DIR` cannot keep the machine’s own, so `/v1` and the console are refused.',
  'api.crowded': 'Connections were closed to make room ([connections](operations.md#connections)); at most once a minute.',
  'api.failed':
    'A request met a fault of this program. The first line of each fault (of 100 faults) has its stack and is not left out. Report it.',
  'api.key_expires': 'At the start: a key has expired or will within two weeks.',
  'api.key_refused': 'A wrong key (`reason: unknown`), or one that expired (`expired`, with its name).',
  'api.listening': 'The port is open, while the start goes on.',
  'api.personal_data_read': 'An invoice was handed out.',
  'api.refused': 'Requests were answered `busy` or `locked`; at most once a minute.',
  'api.request_rejected': 'A request was wrong, or came from the wrong place.',
  'api.scope_refused': 'A right key, or a person signed in with it, lacked a scope.',
  'api.unavailable': 'A request failed for a reason of the moment, such as a database that is away.',
  'api.unlogged':
    'Lines that callers cause were left out in the last minute: of `api.key_refused`, `api.scope_refused`, `api.request_rejected` and `api.failed`, 40 may come at once, then one each two seconds.',
  'api.writes_refused': 'Requests failed because the database is read-only or its disk full; at most once a minute.',
  'channel.capped': 'A channel for people reached `maxPerHour`: messages wait, and go out together.',
  'channel.not_closed': 'The connections of a subscriber that was changed or deleted did not close. Nothing to do.',
  'checkouts.over': 'Checkouts of which people were alerted are not stuck any more.',
  'checkouts.stuck': 'People were alerted of single stuck checkouts; at level error no channel for people takes messages.',
  'checkouts.unreadable':
    'People were alerted of purchases that cannot be read; at level error no channel for people takes messages.',
  'clock.rows_locked': 'After the database’s clock was set back: rows are locked whose times are to be moved.',
  'clock.step_followed': 'After the database’s clock was set back: what was due later is due now.',
  'clock.stepped': 'The database’s clock stepped, forward or back.',
  'console.action_not_recorded': 'As `api.action_not_recorded`, of signing in and out.',
  'console.signed_in': 'A person signed in to the console.',
  'console.signed_out': 'A person signed out.',
  'database.changed':
    'Another database answers than before, or the same in an older state: memory is dropped. `database.went_back` or `database.moved` follows.',
  'database.embedded': 'The embedded Postgres was started, found running, or lost.',
  'database.host_changed': 'Another host of `DATABASE_URL` takes writes ([failover](operations.md#failover-of-the-database)).',
  'database.moved': 'Another server took over. No write is known to be missing; `detail` says whether that is certain.',
  'database.not_reached': 'A start waits for the database: once for each reason, then each minute.',
  'database.notifications_fill': 'The queue of notifications of Postgres fills up; at most once a minute.',
  'database.reached': 'The database answers, for which the start had waited.',
  'database.settings_refused':
    'A pooler refuses settings that recording rests on ([the line to the database](operations.md#the-line-to-the-database)).',
  'database.went_back':
    'The database lacks writes that it had confirmed ([what to do](troubleshooting.md#the-database-went-back)).',
  'dead_mans_switch.failed': 'The dead man’s switch could not be called.',
  'dead_mans_switch.resumed': 'The dead man’s switch is called again.',
  'dead_mans_switch.withheld': 'The dead man’s switch is not called, because the daemon is not well.',
  'delivery.brought_forward': 'A pause ended, and parked deliveries are due.',
  'delivery.delivered': 'A receiver took an event.',
  'delivery.exhausted':
    'A delivery failed for three days and is given up ([send it again](troubleshooting.md#a-receiver-was-down-from-the-alarm-to-the-all-clear)).',
  'delivery.failed': 'An attempt failed, and is made again.',
  'delivery.not_brought_forward': 'Parked deliveries could not be made due; the daemon tries again.',
  'delivery.not_planned': 'The database did not say which messages go out together; the daemon tries again.',
  'delivery.not_settled':
    'Results of deliveries could not be written. The deliveries wait, and may be sent once more after a crash.',
  'delivery.row_locked': 'Another session has locked rows of deliveries, whose results wait.',
  'delivery.together': 'Several events went out in one message to people.',
  'delivery.under_way_unknown': 'The database did not say which deliveries other replicas have under way. Nothing to do.',
  'delivery.unsettleable': 'The database refuses the result of one delivery for what it holds.',
  'demo.not_registered': 'Only in the demo: a made-up shop could not register a purchase.',
  'digest.made': 'The digest of a day or a week was made.',
  'incident.ended': 'An incident is over, and people were alerted of its end.',
  'incident.ended_silenced': 'An incident is over; a silence kept it from people.',
  'incident.first_look': 'The first look at a site found stuck purchases; people got one message about them.',
  'incident.grew':
    'An incident has many more customers, or another severity. At level error no channel for people takes messages.',
  'incident.opened': 'An incident opened ([alerts](alerts.md)). At level error no channel for people takes messages.',
  'incident.opened_silenced': 'An incident opened; a silence keeps it from people.',
  'incident.reminder': 'An incident lasts, and people were reminded. At level error no channel for people takes messages.',
  'incident.reopened': 'An incident came back. At level error no channel for people takes messages.',
  'incidents.not_alerted': 'At the start: no channel gets some or all incidents.',
  'lease.lost': 'Other replicas had deleted this one’s row, as its lease had ended; it takes shards again.',
  'listen.asking': 'A pooler before the database passes no notification on: the loops look for work every second.',
  'listen.lost': 'The connection that hears notifications broke; it is opened again, and loops rest for seconds instead.',
  'listen.resumed': 'Notifications are heard again.',
  'loop.failed': 'A loop failed, first of a row; `/readyz` says 503 until it recovers.',
  'loop.recovered': 'A loop works again.',
  'order.paid_twice': 'Two purchases of one order completed ([an order paid twice](alerts.md#an-order-paid-twice)).',
  'poll.failed': 'A poll brought no usable answer, or its outcome was refused.',
  'poll.not_recorded': 'Outcomes of polls could not be written; these purchases are polled again.',
  'poll.postponed': 'The site fails: nothing is recorded, and the purchase stays due.',
  'poll.row_locked': 'Another session has locked rows of purchases; at most once a minute.',
  'poll.undecided': 'A fault of this program: an answer led to no outcome. Report it.',
  'poll.unrecordable': 'The database refuses the outcome of one poll for what it holds.',
  'purchase.at_risk': 'A stuck purchase is announced as at risk: its session is about to end.',
  'purchase.expired': 'A purchase is not watched any more: nothing had changed for `polling.giveUpAfter`.',
  'purchase.invoice_ready': 'The invoice of a completed purchase was read.',
  'purchase.not_repaired': 'As `purchase.repaired`, and it failed; it is tried again.',
  'purchase.readable': 'A purchase can be read again.',
  'purchase.recovered': 'A stuck purchase went on.',
  'purchase.repaired': 'A stored purchase disagreed with its history, and was set back to it.',
  'purchase.state_changed': 'A purchase changed its state, or was seen first.',
  'purchase.stuck': 'A purchase is stuck.',
  'purchase.unreadable': 'The service answers, and not about this purchase.',
  'queue.found_overdue':
    'A check of the database found purchases that memory had lost. They are polled; report it if it repeats.',
  'replica.away': 'This replica reaches nothing where another one does, and leaves its shards to it.',
  'replica.back': 'This replica reaches something again.',
  'replica.expired': 'Another replica did not renew its lease.',
  'replica.gone': 'The process of another replica on this machine has ended.',
  'replica.not_posted': 'A channel for people did not take a message about this replica’s own trouble.',
  'replica.other_version': 'Daemons of two versions have run for five minutes.',
  'replica.outdone': 'Another daemon’s settings name more: this one takes no shards.',
  'replica.post_not_recorded': 'A message that was posted without the database is not recorded yet.',
  'replica.posted': 'People were alerted of this replica’s own trouble without the database.',
  'replica.recovered': 'This replica does its work again.',
  'replica.takes_part': 'After `replica.outdone`: this one takes shards again.',
  'replica.tries_again': 'After `replica.away`: this replica takes a share of the shards to see whether it reaches anything.',
  'replica.troubled': 'This replica cannot do its work ([what to do](incidents.md#the-daemon-cannot-do-its-work)).',
  'replica.troubles_not_stored': 'The trouble of this replica could not be written; it is written again.',
  'retention.done': 'Old rows were deleted ([data](data.md#what-is-deleted-by-itself)).',
  'schema.behind': 'The schema lacks files without which this version works, and the login may not apply them.',
  'schema.migrated': 'Migrations ran.',
  'schema.newer': 'Another version has migrated the schema, which this version works with.',
  'schema.roles_missing': 'Roles that the views are granted to could not be made.',
  'secrets.previous_unused': 'Everything is stored under the new `SECRETS_KEY`.',
  'secrets.resealed': 'Stored secrets are encrypted with the new key.',
  'secrets.waiting': 'A new `SECRETS_KEY` is not used yet, because other daemons lack it.',
  'service_manager.not_told': 'A message to systemd could not be sent.',
  'settings.refused': 'New settings are wrong; the daemon goes on with those before.',
  'settings.reloaded': 'The daemon runs with new settings ([reload](operations.md#settings-while-it-runs)).',
  'settings.restart_needed': 'Settings changed that hold from the next start on.',
  'settings.waiting':
    'New settings are to be taken, and the database does not answer: the daemon polls nothing until then, and tries every second.',
  'shards.changed': 'This replica took or gave shards.',
  'site.answers': 'A site’s service answers again.',
  'site.credential_odd': 'At the start: a credential has blanks or quotes around it.',
  'site.doubles_stopped': 'A site was renamed, and some ids were registered under both names.',
  'site.failing':
    'A site’s service does not answer: polls rest, and a probe tries it ([a site does not answer](incidents.md#a-site-does-not-answer)).',
  'site.move_locked': 'A site was renamed, and another session has locked some of its rows.',
  'site.moved': 'A site was renamed, and its purchases moved.',
  'site.moves': 'A site was renamed, and its purchases are being moved.',
  'site.not_named': 'No running daemon has a site that has purchases to poll.',
  'site.not_readable':
    'No purchase of a site can be read, though its service answers ([what to do](incidents.md#purchases-that-cannot-be-read)).',
  'site.readable': 'Purchases of the site can be read again.',
  'site.report_failed': 'How a site does could not be written, first of a row; the next answer writes it.',
  'site.retired': 'No daemon has named a site for ten minutes.',
  'site.throttled': 'A site’s service asks for fewer calls.',
  'site.unnamed_over': 'A running daemon names the site again, or nothing of it is left to poll.',
  'start.broken_off': 'A signal came during the start.',
  'start.failed':
    'The last line of a start that failed; the exit code is 1, or 2 for wrong settings or options. Mend what `error` says.',
  'start.step': 'What the start does now.',
  started: 'The start is over.',
  'states.not_final': 'At the start: purchases were settled in a state that is not final any more.',
  'stop.broken_off': 'The stop took too long; the exit code is 1.',
  'stop.cut_short': 'A part of the stop was broken off ([stop](operations.md#stop)).',
  'stop.failed': 'A part of the stop failed.',
  stopped: 'The last line of a daemon that was stopped.',
  stopping: 'A signal came.',
  'subscriber.address_refused': 'At the start: a receiver’s address is private, and not allowed.',
  'subscriber.not_named': 'No running daemon has a subscriber of the settings.',
  'subscriber.not_tried': 'The database did not say whether a paused receiver may be tried; the daemon asks again.',
  'subscriber.paused':
    'A receiver failed several times in a row, and is paused ([what to do](troubleshooting.md#a-receiver-was-down-from-the-alarm-to-the-all-clear)).',
  'subscriber.recovered': 'A paused receiver took a delivery.',
  'subscriber.resumed': 'A pause ended early.',
  'subscriber.retired': 'No daemon has named a subscriber for ten minutes; no events are made for it.',
  'subscriber.switched_off': 'A receiver answered 410, or failed for long, and gets nothing until it is switched on.',
  'subscriber.taken_over': 'The settings name a subscriber that the API or a command had added; the settings win.',
  'subscriber.unnamed_over': 'A running daemon names the subscriber again.',
  'subscriber.unreachable': 'A subscriber cannot be opened, such as by a secret that cannot be decrypted.',
  'subscriber.unreached': 'This replica does not reach a receiver for a reason on its own side.',
  'traces.not_exported': 'The collector took no spans; at most once a minute.',
  'traces.on': 'Polls and deliveries are traced ([traces](traces.md)).',
  'traces.warning': 'OpenTelemetry warns of something; at most once a minute.',
  'watchdog.withheld': 'A loop hangs: systemd gets no sign of life any more, and restarts the daemon.',
};

/** The part of a name before its dot. */
const groupOf = (event: string): string => (event.includes('.') ? event.slice(0, event.indexOf('.')) : 'start');
const GROUPS: Readonly<Record<string, string>> = { start: 'start and stop', stop: 'start and stop', incidents: 'incident' };

/** The page. */
export function logsPage(): string {
  const events = Object.entries(LOG_EVENTS).map(([event, line]) => {
    const [levels = '', fields = ''] = line.split(/: ?/);
    const { [groupOf(event)]: group = groupOf(event) } = GROUPS;
    const cells = [`\`${event}\``, levels.replace('|', ', '), MEANINGS[event as LogEvent], fields];
    return { group, row: `| ${cells.join(' | ')} |` };
  });
  const sections = [...Map.groupBy(events, ({ group }) => group)]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .map(
      ([group, of]) =>
        `### ${group}\n\n| event | level | when | fields |\n|---|---|---|---|\n${of.map(({ row }) => row).join('\n')}`,
    );
  return `# Log

\`npm run logs\` makes this page from the code. Names of events and fields are an interface: alerts and searches may rest on them.

A daemon logs to standard output, one JSON object in each line: \`level\`, \`time\` (UTC), \`host\`, \`replica\` (from when it has its id), the fields of the event, and \`event\`.
On a terminal it writes short lines for people instead, without \`host\` and \`replica\`. \`LOG_LEVEL\` ([configuration](configuration.md)) says from which level on; \`debug\` has a line for each failed poll and each delivery.
Bodies, queries, notes, names, secrets and keys are not logged.

## Events

A field with \`?\` is not in each line. Where \`advice\` is, the line itself says what to do.

${sections.join('\n\n')}

## Fields

| field | content |
|---|---|
${Object.entries(FIELDS)
  .map(([field, content]) => `| \`${field}\` | ${content} |`)
  .join('\n')}
`;
}

if (import.meta.main) writeFileSync(join(ROOT, 'docs/logs.md'), logsPage());
