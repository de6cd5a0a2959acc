/**
 * The commands in the order of the help. The file of a command is loaded when that command runs, so that `--help` starts
 * without the database driver, the HTTP client and the schema, and no command with what only others need. The folders follow the
 * headings of the help.
 */
import { PEOPLE_KIND_NAMES, PEOPLE_KINDS } from '../config/kinds/people-kinds.ts';
import type { Register } from './terminal/command.ts';

/**
 * `usage` is the name with its arguments as the help of the program shows them; behind `|` another name that works, too, and that
 * the help does not show: people type a noun in the singular and in the plural.
 */
type Entry = readonly [usage: string, summary: string, load: () => Promise<{ readonly register: Register }>];

const forPeople = PEOPLE_KIND_NAMES.map(
  (kind): Entry => [
    kind,
    `send test messages and see how they look (${PEOPLE_KINDS[kind].title})`,
    async () => ({ register: (await import('./subscribers/test-channels.ts')).registerKind(kind) }),
  ],
);

export const COMMAND_GROUPS = [
  under('Run:', [
    ['start [options]', 'run the daemon', () => import('./run/start.ts')],
    ['demo [options]', 'see the whole product at work, on this machine', () => import('./run/demo.ts')],
    ['open [options]', 'open the console in a browser', () => import('./run/open.ts')],
    ['simulate [options]', 'run a stand-in for the checkout service', () => import('./run/simulate.ts')],
  ]),
  under('Watch purchases:', [
    ['watch [options] [id...]', 'register purchases', () => import('./purchases/watch.ts')],
    ['unwatch [options] <id>', 'stop watching a purchase', () => import('./purchases/unwatch.ts')],
    ['status|purchase [options] [id]', 'show how everything is, or one purchase', () => import('./look/status.ts')],
    ['purchases [options] [text]', 'find and list purchases, or act on many', () => import('./purchases/purchases.ts')],
    ['poll [options] <id>', 'ask for a purchase now', () => import('./purchases/poll.ts')],
    ['why [options] <id>', 'why a purchase has (not) been polled, flagged or announced', () => import('./purchases/why.ts')],
    ['invoice [options] <id>', "show a purchase's invoice", () => import('./purchases/invoice.ts')],
    ['forget [options] <id>', "erase a purchase, and a person's data with it", () => import('./purchases/forget.ts')],
  ]),
  under('Look:', [
    ['events|event [options]', 'show what happened last, and what happens', () => import('./look/events.ts')],
    ['export [options] <what>', 'write rows for spreadsheets and warehouses', () => import('./look/export.ts')],
    ['flow [options]', 'show how purchases go from state to state, and where they wait', () => import('./look/flow.ts')],
    ['trends [options]', 'show how checkouts ended over days, beside the time before', () => import('./look/trends.ts')],
    ['activity [options]', 'show polls, lag and deliveries of each of the last minutes', () => import('./look/activity.ts')],
    [
      'plan [options] [state]',
      'show when purchases will be polled, and how many calls that makes',
      () => import('./look/plan.ts'),
    ],
    ['audit [options]', 'prove that every change was announced to everybody who wants it', () => import('./look/audit.ts')],
    ['mcp [options]', 'answer an assistant that speaks the Model Context Protocol', () => import('./mcp/mcp.ts')],
    ['actions|action [options]', 'show what was changed, by whom and from where', () => import('./look/actions.ts')],
  ]),
  under('Alert people:', [
    ['incidents|incident', 'show what is wrong, look after it, say what it was', () => import('./incidents/incidents.ts')],
    ['silences|silence', 'get no alerts about some incidents for a time', () => import('./incidents/silences.ts')],
    [
      'rehearse [options]',
      'show which alerts would have been sent in a past time under other settings',
      () => import('./incidents/rehearse.ts'),
    ],
    ...forPeople,
  ]),
  under('Send events:', [
    ['subscribers|subscriber', 'show, add, change and test receivers', () => import('./subscribers/subscribers.ts')],
    ['deliveries|delivery', 'show what was sent to whom, and send one again', () => import('./subscribers/deliveries.ts')],
    ['replay [options]', 'send a subscriber past events again', () => import('./subscribers/replay.ts')],
    ['listen [options]', 'show verified events as they come, on this machine', () => import('./listen/listen.ts')],
  ]),
  under('Set up:', [
    ['init [options]', 'write the first settings, and try the credentials', () => import('./setup/init.ts')],
    ['config [options]', 'show every setting and where it came from, without secrets', () => import('./setup/config.ts')],
    ['doctor [options]', 'check credentials, clocks, database and receivers', () => import('./setup/doctor.ts')],
    ['migrate [options]', 'bring the database schema up to date', () => import('./setup/migrate.ts')],
    ['key|keys', 'make keys of the API', () => import('./setup/key.ts')],
    ['sessions|session', 'show who is signed in to the console, and sign browsers out', () => import('./setup/sessions.ts')],
    [
      'completion <shell>',
      'write what lets bash, zsh or fish complete commands and options',
      () => import('./setup/completion.ts'),
    ],
  ]),
];

/** Commands below a heading of the help. */
function under(heading: string, entries: readonly Entry[]) {
  const commands = entries.map(([usage, summary, load]) => {
    const [, name = '', alias, rest = ''] = /^([^ |]+)(?:\|(\S+))?( .*)?$/.exec(usage)!;
    return { name, aliases: alias === undefined ? [] : [alias], usage: name + rest, summary, load };
  });
  return { heading, commands };
}
