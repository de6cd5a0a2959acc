/** `subscribers`: who gets events, and which. */

import { type Command, InvalidArgumentError, Option } from 'commander';
import { subscriberBody } from '../../actions/subscribers/body.ts';
import { resumeSubscriber } from '../../actions/subscribers/outlook.ts';
import { readName, readSecret } from '../../actions/subscribers/rules.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import {
  addSubscriber,
  changeSubscriber,
  removeSubscriber,
  requireOwn,
  requireSubscriber,
  rotateSecret,
} from '../../actions/subscribers/subscribers.ts';
import { stateWords } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { DAY, isoTimeOrNull, type Milliseconds } from '../../domain/values/time.ts';
import { MOST_WAITING, waitingFor } from '../../postgres/deliveries/waiting.ts';
import { databaseNow } from '../../postgres/reports/overview.ts';
import { readSubscribers } from '../../postgres/subscribers/subscribers.ts';
import { durationArgument, examples } from '../terminal/arguments.ts';
import { confirmed } from '../terminal/confirm.ts';
import type { CliContext } from '../terminal/context.ts';
import { type OpenDatabase, withDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { FROM_ELSEWHERE, hasQuery, SecretOption, secretValue } from '../terminal/secret-option.ts';
import { printTable } from '../terminal/table.ts';
import { printReasons, statusWord } from './show-health.ts';
import { listed, printSubscriber } from './show-subscriber.ts';
import { checked, type ExtraOptions, extrasOf, urlArgument, type WishOptions, wishesOf } from './subscriber-options.ts';
import { testSubscriber } from './test-subscriber.ts';

interface JsonOption {
  readonly json?: true;
}

/** With what subscribers are changed, and what is needed to show their addresses. */
function meansOf({ sql, settings }: OpenDatabase) {
  const secrets = secretsOf(settings);
  return { means: { sql, secrets }, addresses: { secrets, configured: settings.subscribers } };
}

async function list(context: CliContext, { json }: JsonOption): Promise<void> {
  await withDatabase(
    context,
    async (database) => {
      const { addresses } = meansOf(database);
      const bodies = (await readSubscribers(database.sql)).map((row) => subscriberBody(row, addresses));
      if (json) return printJson(context, { data: bodies });
      if (bodies.length === 0) {
        return void printLine(
          context,
          'No subscribers: nothing is sent. Add one with: purchase-watch subscribers add <name> <url>',
        );
      }
      printTable(
        context,
        ['subscriber', 'from', 'status', 'types', 'sites', 'states', 'address'],
        bodies.map(({ name, origin, status, health, types, sites, states, url }) => [
          name,
          origin,
          statusWord({ status, health }),
          listed(types),
          listed(sites),
          listed(states?.map(stateWords) ?? null),
          url ?? '-',
        ]),
      );
      printReasons(context, bodies);
    },
    { restsOn: ['receivers'] },
  );
}

async function show(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  await withDatabase(
    context,
    async (database) => {
      const { addresses } = meansOf(database);
      const body = subscriberBody(await requireSubscriber(database.sql, name), addresses);
      return json ? printJson(context, body) : printSubscriber(context, body);
    },
    { restsOn: ['receivers'] },
  );
}

async function add(
  context: CliContext,
  name: string,
  url: string,
  { json, secret: own, ...options }: WishOptions & ExtraOptions & JsonOption & { readonly secret?: string },
): Promise<void> {
  await withDatabase(
    context,
    async (database) => {
      const { means, addresses } = meansOf(database);
      const { types = null, sites = null, states = null, description = null } = await wishesOf(database.sql, options);
      const address = await secretValue(context, 'the address', url);
      const wanted = { name: checked('the name', readName(name)), url: urlArgument(address, database.settings) };
      const { row, secret } = await addSubscriber(means, {
        ...wanted,
        ...extrasOf(options),
        types,
        sites,
        states,
        description,
        secret: own === undefined ? undefined : checked('--secret', readSecret(own)),
      });
      await recordCommand(database.sql, 'subscribers add', { id: name });
      const body = subscriberBody(row, addresses);
      if (json) return printJson(context, { ...body, secret });
      printSubscriber(context, body);
      printLine(context);
      printLine(context, `secret  ${secret}`);
      printLine(context, `Keep the secret now: it is not shown again. Try it with: ${commandLine`subscribers test ${name}`}`);
    },
    { restsOn: ['receivers'] },
  );
}

async function change(
  context: CliContext,
  name: string,
  {
    json,
    url,
    status,
    ...options
  }: WishOptions & ExtraOptions & JsonOption & { readonly url?: string; readonly status?: 'active' | 'off' },
): Promise<void> {
  await withDatabase(
    context,
    async (database) => {
      const { means, addresses } = meansOf(database);
      const wishes = await wishesOf(database.sql, options);
      const address = url === undefined ? undefined : urlArgument(url, database.settings);
      const changes = { ...wishes, ...extrasOf(options), url: address, status };
      if (Object.values(changes).every((value) => value === undefined)) {
        throw new AppError(
          'invalid',
          'nothing to change was given; "purchase-watch subscribers change --help" shows what can be',
        );
      }
      const body = subscriberBody(await changeSubscriber(means, name, changes), addresses);
      await recordCommand(database.sql, 'subscribers change', { id: name });
      return json ? printJson(context, body) : printSubscriber(context, body);
    },
    { restsOn: ['receivers'] },
  );
}

async function resume(context: CliContext, name: string, { json }: JsonOption): Promise<void> {
  await withDatabase(context, async (database) => {
    const { addresses } = meansOf(database);
    const { subscriber, wasPaused, held } = await resumeSubscriber(database.sql, name);
    await recordCommand(database.sql, 'subscribers resume', { id: name });
    if (json) return printJson(context, subscriberBody(subscriber, addresses));
    if (held !== null) return printLine(context, `${wasPaused ? 'its waits were ended, but' : 'nothing was resumed:'} ${held}`);
    printLine(
      context,
      wasPaused
        ? `${name} gets events: its parked deliveries are sent in order, a few at first`
        : `${name} is not paused: nothing was changed`,
    );
  });
}

async function remove(context: CliContext, name: string, { json, yes }: JsonOption & { readonly yes?: true }): Promise<void> {
  await withDatabase(context, async (database) => {
    const waiting = await waitingFor(database.sql, (await requireOwn(database.sql, name)).id);
    if (waiting > 0 && !yes) {
      const many = `${waiting < MOST_WAITING ? '' : 'at least '}${counted(waiting, 'delivery waits', 'deliveries wait')}`;
      const question = `${many} for ${name}, and will never be made. Remove it?`;
      const otherwise = `${many} for ${name}, and would never be made: say --yes to remove it all the same`;
      if (!(await confirmed(context, { question, otherwise, forPrograms: json === true }))) {
        throw new AppError('conflict', 'nothing was removed');
      }
    }
    await removeSubscriber(database.sql, name);
    await recordCommand(database.sql, 'subscribers remove', { id: name });
    if (json) return printJson(context, { name, removed: true });
    printLine(context, `removed ${name}; what waited for it is suppressed, and what it was sent can still be read`);
  });
}

async function rotate(
  context: CliContext,
  name: string,
  { overlap, json }: JsonOption & { readonly overlap: Milliseconds },
): Promise<void> {
  await withDatabase(context, async (database) => {
    const { means } = meansOf(database);
    const { secret, oldKeysUntil } = await rotateSecret(means, name, { overlap, now: await databaseNow(database.sql) });
    await recordCommand(database.sql, 'subscribers rotate-secret', { id: name });
    const oldSecretsUntil = isoTimeOrNull(oldKeysUntil);
    if (json) return printJson(context, { secret, oldSecretsUntil });
    printLine(context, `secret  ${secret}`);
    const old =
      oldSecretsUntil === null ? 'The old one does not sign any more.' : `Until ${oldSecretsUntil} the old one signs beside it.`;
    printLine(context, `Keep the secret now: it is not shown again. ${old}`);
  });
}

const TYPES = new Option('--types <list>', 'types of events, separated by commas, or all');
const SITES = new Option('--sites <list>', 'sites, separated by commas, or all');
const STATES = new Option('--states <list>', 'states a purchase changed to, by name or number, or all');
const DESCRIPTION = new Option('--description <text>', 'what it is, for people');

const FORMAT = new Option('--format <format>', 'what the body is').choices(['standard', 'cloudevents']);
const EITHER_HEADERS = 'Give headers or take them away, not both.';
const HEADER = new SecretOption(
  '--header <name: value>',
  'a header of its own, sent with every request; may be given again and replaces those there were',
  (line) => /auth|token|secret|key|password|signature/i.test(line.split(':', 1)[0]!),
).argParser((line: string, before: readonly string[] | false | undefined) => {
  if (before === false) throw new InvalidArgumentError(EITHER_HEADERS);
  return [...(before ?? []), line];
});
// With a value to parse, so that it learns of the other one.
const NO_HEADER = new Option('--no-header', 'no headers of its own any more')
  .preset('')
  .argParser((_: string, before: readonly string[] | false | undefined): readonly string[] | false => {
    if (before) throw new InvalidArgumentError(EITHER_HEADERS);
    return false;
  });

/** Declares the command and what it can do. */
export function register(command: Command, context: CliContext): void {
  command.description(
    'Who gets events by webhook, and which. Running daemons follow changes. What the settings name is shown, and changed there.',
  );
  const json = (sub: Command): Command => sub.option('--json', 'write JSON');
  const wishes = (sub: Command): Command =>
    [TYPES, SITES, STATES, DESCRIPTION, FORMAT, HEADER].reduce((all, option) => all.addOption(option), sub);
  json(command.command('list', { isDefault: true }).summary('show all of them')).action((options: JsonOption) =>
    list(context, options),
  );
  json(command.command('show <name>').summary('show one')).action((name: string, options: JsonOption) =>
    show(context, name, options),
  );
  json(
    wishes(
      command
        .command('add')
        .argument('<name>')
        .argument('<url>', `its address; ${FROM_ELSEWHERE}`)
        .summary('add one; its secret is shown once'),
    )
      .option('--asymmetric', 'sign with an ed25519 key beside the secret, and show its public key')
      .addOption(new SecretOption('--secret <whsec>', 'a signing secret of your own')),
  ).action((name: string, url: string, options: WishOptions & JsonOption) => add(context, name, url, options));
  json(
    wishes(
      command
        .command('change <name>')
        .summary('change what is given')
        .addOption(new SecretOption('--url <url>', 'another address', hasQuery)),
    )
      .addOption(NO_HEADER)
      .option('--asymmetric', 'sign with an ed25519 key beside the secret')
      .option('--no-asymmetric', 'sign with the secret only')
      .addOption(new Option('--status <status>', 'switch it off, or on again').choices(['active', 'off'])),
  ).action((name: string, options: WishOptions & JsonOption) => change(context, name, options));
  json(command.command('resume <name>').summary('end the pause of one that was mended')).action(
    (name: string, options: JsonOption) => resume(context, name, options),
  );
  json(
    command
      .command('remove <name>')
      .summary('send it nothing any more; asks when deliveries wait for it')
      .option('--yes', 'do not ask'),
  ).action((name: string, options: JsonOption & { yes?: true }) => remove(context, name, options));
  json(
    command
      .command('test <name>')
      .summary('send it a test and show how that went')
      .addOption(
        new Option('--wait <duration>', 'how long to wait for the answer').argParser(durationArgument).default(20_000, '20s'),
      ),
  ).action((name: string, options: JsonOption & { wait: Milliseconds }) => testSubscriber(context, name, options));
  json(
    command
      .command('rotate-secret <name>')
      .summary('give it a new secret, shown once')
      .addOption(
        new Option('--overlap <duration>', 'how long the old one signs too').argParser(durationArgument).default(DAY, '24h'),
      ),
  ).action((name: string, options: JsonOption & { overlap: Milliseconds }) => rotate(context, name, options));
  command.addHelpText('after', '\nOptions of the list: purchase-watch subscribers list --help');
  examples(command, [
    ['subscribers', 'who gets events'],
    ['subscribers add books https://books.example/hooks --types purchase.state_changed', 'one more'],
    ['subscribers change books --header @headers.txt', 'headers from a file, a line each'],
    ['subscribers change books --status active', 'send what waits'],
    ['subscribers test books', 'does it answer?'],
    ['subscribers resume books', 'it was mended: go on at once'],
  ]);
}
