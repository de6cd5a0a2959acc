/**
 * The commands in the order of the help. The file of a command is loaded when that command runs, so that `--help` starts
 * without the database driver, the HTTP client and the schema, and no command with what only others need.
 */
import type { Command } from 'commander';
import { PEOPLE_KIND_NAMES, PEOPLE_KINDS } from '../config/kinds/people-kinds.ts';
import type { CliContext } from './terminal/context.ts';

export interface CommandEntry {
  /** Its name, with its arguments as the help of the program shows them. */
  readonly usage: string;
  readonly summary: string;
  /** Names that work, too, and that the help does not show: people type a noun in the singular and in the plural. */
  readonly aliases?: readonly string[];
  load(): Promise<{ register(command: Command, context: CliContext): void }>;
}

interface CommandGroup {
  /** What stands above them in the help. */
  readonly heading: string;
  readonly commands: readonly CommandEntry[];
}

export const COMMAND_GROUPS: readonly CommandGroup[] = [
  {
    heading: 'Run:',
    commands: [
      { usage: 'start [options]', summary: 'run the daemon', load: () => import('./daemon/start.ts') },
      {
        usage: 'demo [options]',
        summary: 'see the whole product at work, on this machine',
        load: () => import('./daemon/demo.ts'),
      },
      { usage: 'open [options]', summary: 'open the console in a browser', load: () => import('./console/open.ts') },
      {
        usage: 'simulate [options]',
        summary: 'run a stand-in for the checkout service',
        load: () => import('./simulate/simulate.ts'),
      },
    ],
  },
  {
    heading: 'Watch purchases:',
    commands: [
      {
        usage: 'watch [options] [id...]',
        summary: 'register purchases',
        load: () => import('./purchases/watch.ts'),
      },
      {
        usage: 'unwatch [options] <id>',
        summary: 'stop watching a purchase',
        load: () => import('./purchases/unwatch.ts'),
      },
      {
        usage: 'status [options] [id]',
        summary: 'show how everything is, or one purchase',
        aliases: ['purchase'],
        load: () => import('./daemon/status.ts'),
      },
      {
        usage: 'purchases [options] [text]',
        summary: 'find and list purchases, or act on many',
        load: () => import('./purchases/purchases.ts'),
      },
      {
        usage: 'poll [options] <id>',
        summary: 'ask for a purchase now',
        load: () => import('./purchases/poll.ts'),
      },
      {
        usage: 'why [options] <id>',
        summary: 'why a purchase has (not) been polled, flagged or announced',
        load: () => import('./purchases/why.ts'),
      },
      {
        usage: 'invoice [options] <id>',
        summary: "show a purchase's invoice",
        load: () => import('./purchases/invoice.ts'),
      },
      {
        usage: 'forget [options] <id>',
        summary: "erase a purchase, and a person's data with it",
        load: () => import('./purchases/forget.ts'),
      },
    ],
  },
  {
    heading: 'Look:',
    commands: [
      {
        usage: 'events [options]',
        summary: 'show what happened last, and what happens',
        aliases: ['event'],
        load: () => import('./listen/events.ts'),
      },
      {
        usage: 'export [options] <what>',
        summary: 'write rows for spreadsheets and warehouses',
        load: () => import('./listen/export.ts'),
      },
      {
        usage: 'flow [options]',
        summary: 'show how purchases go from state to state, and where they wait',
        load: () => import('./daemon/flow.ts'),
      },
      {
        usage: 'activity [options]',
        summary: 'show polls, lag and deliveries of each of the last minutes',
        load: () => import('./daemon/activity.ts'),
      },
      {
        usage: 'plan [options] [state]',
        summary: 'show when purchases will be polled, and how many calls that makes',
        load: () => import('./daemon/plan.ts'),
      },
      {
        usage: 'audit [options]',
        summary: 'prove that every change was announced to everybody who wants it',
        load: () => import('./daemon/audit.ts'),
      },
      {
        usage: 'actions [options]',
        summary: 'show what was changed, by whom and from where',
        aliases: ['action'],
        load: () => import('./daemon/actions.ts'),
      },
    ],
  },
  {
    heading: 'Alert people:',
    commands: [
      {
        usage: 'incidents',
        summary: 'show what is wrong, look after it, say what it was',
        aliases: ['incident'],
        load: () => import('./incidents/incidents.ts'),
      },
      {
        usage: 'silences',
        summary: 'get no alerts about some incidents for a time',
        aliases: ['silence'],
        load: () => import('./incidents/silences.ts'),
      },
      {
        usage: 'rehearse [options]',
        summary: 'show which alerts would have been sent in a past time under other settings',
        load: () => import('./incidents/rehearse.ts'),
      },
      ...PEOPLE_KIND_NAMES.map((kind) => ({
        usage: kind,
        summary: `send test messages and see how they look (${PEOPLE_KINDS[kind].title})`,
        load: async () => {
          const { registerKind } = await import('./subscribers/test-channels.ts');
          return { register: (command: Command, context: CliContext) => registerKind(command, context, kind) };
        },
      })),
    ],
  },
  {
    heading: 'Send events:',
    commands: [
      {
        usage: 'subscribers',
        summary: 'show, add, change and test receivers',
        aliases: ['subscriber'],
        load: () => import('./subscribers/subscribers.ts'),
      },
      {
        usage: 'deliveries',
        summary: 'show what was sent to whom, and send one again',
        aliases: ['delivery'],
        load: () => import('./subscribers/deliveries.ts'),
      },
      {
        usage: 'replay [options]',
        summary: 'send a subscriber past events again',
        load: () => import('./subscribers/replay.ts'),
      },
      {
        usage: 'listen [options]',
        summary: 'show verified events as they come, on this machine',
        load: () => import('./listen/listen.ts'),
      },
    ],
  },
  {
    heading: 'Set up:',
    commands: [
      {
        usage: 'init [options]',
        summary: 'write the first settings, and try the credentials',
        load: () => import('./init/init.ts'),
      },
      {
        usage: 'config [options]',
        summary: 'show every setting and where it came from, without secrets',
        load: () => import('./settings/config.ts'),
      },
      {
        usage: 'doctor [options]',
        summary: 'check credentials, clocks, database and receivers',
        load: () => import('./daemon/doctor.ts'),
      },
      {
        usage: 'migrate [options]',
        summary: 'bring the database schema up to date',
        load: () => import('./daemon/migrate.ts'),
      },
      { usage: 'key', summary: 'make keys of the API', aliases: ['keys'], load: () => import('./daemon/key.ts') },
      {
        usage: 'sessions',
        summary: 'show who is signed in to the console, and sign browsers out',
        aliases: ['session'],
        load: () => import('./console/sessions.ts'),
      },
      {
        usage: 'completion <shell>',
        summary: 'write what lets bash, zsh or fish complete commands and options',
        load: () => import('./completion/completion.ts'),
      },
    ],
  },
];
