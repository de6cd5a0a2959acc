/** `subscribers`: who gets events, and which. */

import { databaseNow } from '../../actions/database.ts';
import { subscriberBody } from '../../actions/subscribers/body.ts';
import { resumeSubscriber } from '../../actions/subscribers/outlook.ts';
import { readName, readSecret } from '../../actions/subscribers/rules.ts';
import { secretsOf } from '../../actions/subscribers/secrets.ts';
import {
  addSubscriber,
  changeSubscriber,
  readSubscribers,
  removeSubscriber,
  requireOwn,
  requireSubscriber,
  rotateSecret,
} from '../../actions/subscribers/subscribers.ts';
import { MOST_WAITING, waitingFor } from '../../actions/subscribers/waiting.ts';
import { stateWords } from '../../domain/purchases/states.ts';
import { commandLine } from '../../domain/values/command-line.ts';
import { AppError } from '../../domain/values/errors.ts';
import { DAY, isoTimeOrNull } from '../../domain/values/time.ts';
import { durationArgument, JSON_OPTION } from '../terminal/arguments.ts';
import { group } from '../terminal/command.ts';
import { confirm } from '../terminal/confirm.ts';
import { type OpenDatabase, onDatabase } from '../terminal/database.ts';
import { counted, printJson, printLine } from '../terminal/output.ts';
import { recordCommand } from '../terminal/record.ts';
import { FROM_ELSEWHERE, hasQuery, secretValue } from '../terminal/secret-option.ts';
import { printTable } from '../terminal/table.ts';
import { printReasons, statusWord } from './show-health.ts';
import { listed, printSubscriber } from './show-subscriber.ts';
import { checked, extrasOf, filtersOf, NO_HEADER_OPTION, SUBSCRIBER_OPTIONS, urlArgument } from './subscriber-options.ts';
import { test } from './test-subscriber.ts';

/** With what subscribers are changed, and what is needed to show their addresses. */
function meansOf({ sql, settings }: OpenDatabase) {
  const secrets = secretsOf(settings);
  return { means: { sql, secrets }, addresses: { secrets, configured: settings.subscribers } };
}

const NAME = ['<name>', ''] as const;

const list = onDatabase(
  { summary: 'show all of them', options: [JSON_OPTION], restsOn: ['receivers'] },
  async (context, { json }, database) => {
    const { addresses } = meansOf(database);
    const bodies = (await readSubscribers(database.sql)).map((row) => subscriberBody(row, addresses));
    if (json) return printJson(context, { data: bodies });
    if (bodies.length === 0)
      return printLine(context, 'No subscribers: nothing is sent. Add one with: purchase-watch subscribers add <name> <url>');
    printTable(context, bodies, {
      subscriber: ({ name }) => name,
      from: ({ origin }) => origin,
      status: statusWord,
      types: ({ types }) => listed(types),
      sites: ({ sites }) => listed(sites),
      states: ({ states }) => listed(states?.map(stateWords) ?? null),
      address: ({ url }) => url,
    });
    printReasons(context, bodies);
  },
);

const show = onDatabase(
  { summary: 'show one', arguments: [NAME], options: [JSON_OPTION], restsOn: ['receivers'] },
  async (context, { name, json }, database) => {
    const { addresses } = meansOf(database);
    const body = subscriberBody(await requireSubscriber(database.sql, name), addresses);
    return json ? printJson(context, body) : printSubscriber(context, body);
  },
);

const add = onDatabase(
  {
    summary: 'add one; its secret is shown once',
    arguments: [NAME, ['<url>', `its address; ${FROM_ELSEWHERE}`]],
    options: [
      ...SUBSCRIBER_OPTIONS,
      ['--asymmetric', 'sign with an ed25519 key beside the secret, and show its public key'],
      ['--secret <whsec>', 'a signing secret of your own', { isSecret: () => true }],
      JSON_OPTION,
    ],
    restsOn: ['receivers'],
  },
  async (context, { name, url, json, secret: own, ...options }, database) => {
    const { means, addresses } = meansOf(database);
    const { types = null, sites = null, states = null, description = null } = await filtersOf(database.sql, options);
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
);

const change = onDatabase(
  {
    summary: 'change what is given',
    arguments: [NAME],
    options: [
      ['--url <url>', 'another address', { isSecret: hasQuery }],
      ...SUBSCRIBER_OPTIONS,
      NO_HEADER_OPTION,
      ['--asymmetric', 'sign with an ed25519 key beside the secret'],
      ['--no-asymmetric', 'sign with the secret only'],
      ['--status <status>', 'switch it off, or on again', { choices: ['active', 'off'] }],
      JSON_OPTION,
    ],
    restsOn: ['receivers'],
  },
  async (context, { name, json, url, status, ...options }, database) => {
    const { means, addresses } = meansOf(database);
    const filters = await filtersOf(database.sql, options);
    const address = url === undefined ? undefined : urlArgument(url, database.settings);
    const changes = { ...filters, ...extrasOf(options), url: address, status };
    if (Object.values(changes).every((value) => value === undefined)) {
      throw new AppError('invalid', 'nothing to change was given; "purchase-watch subscribers change --help" shows what can be');
    }
    const body = subscriberBody(await changeSubscriber(means, name, changes), addresses);
    await recordCommand(database.sql, 'subscribers change', { id: name });
    return json ? printJson(context, body) : printSubscriber(context, body);
  },
);

const resume = onDatabase(
  { summary: 'end the pause of one that was mended', arguments: [NAME], options: [JSON_OPTION] },
  async (context, { name, json }, database) => {
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
  },
);

const remove = onDatabase(
  {
    summary: 'send it nothing any more; asks when deliveries wait for it',
    arguments: [NAME],
    options: [['--yes', 'do not ask'], JSON_OPTION],
  },
  async (context, { name, yes, json }, { sql }) => {
    const waiting = await waitingFor(sql, (await requireOwn(sql, name)).id);
    if (waiting > 0 && !yes) {
      const many = `${waiting < MOST_WAITING ? '' : 'at least '}${counted(waiting, 'delivery waits', 'deliveries wait')}`;
      const question = `${many} for ${name}, and will never be made. Remove it?`;
      const otherwise = `${many} for ${name}, and would never be made: say --yes to remove it all the same`;
      await confirm(context, { question, otherwise, refused: 'nothing was removed', json });
    }
    await removeSubscriber(sql, name);
    await recordCommand(sql, 'subscribers remove', { id: name });
    if (json) return printJson(context, { name, removed: true });
    printLine(context, `removed ${name}; what waited for it is suppressed, and what it was sent can still be read`);
  },
);

const rotate = onDatabase(
  {
    summary: 'give it a new secret, shown once',
    arguments: [NAME],
    options: [
      ['--overlap <duration>', 'how long the old one signs too', { read: durationArgument, usual: DAY, shown: '24h' }],
      JSON_OPTION,
    ],
  },
  async (context, { name, overlap, json }, database) => {
    const { means } = meansOf(database);
    const { secret, oldKeysUntil } = await rotateSecret(means, name, { overlap, now: await databaseNow(database.sql) });
    await recordCommand(database.sql, 'subscribers rotate-secret', { id: name });
    const oldSecretsUntil = isoTimeOrNull(oldKeysUntil);
    if (json) return printJson(context, { secret, oldSecretsUntil });
    printLine(context, `secret  ${secret}`);
    const old =
      oldSecretsUntil === null ? 'The old one does not sign any more.' : `Until ${oldSecretsUntil} the old one signs beside it.`;
    printLine(context, `Keep the secret now: it is not shown again. ${old}`);
  },
);

export const register = group(
  {
    description:
      'Who gets events by webhook, and which. Running daemons follow changes. What the settings name is shown, and changed there.',
    after: '\nOptions of the list: purchase-watch subscribers list --help',
    examples: [
      ['subscribers', 'who gets events'],
      ['subscribers add books https://books.example/hooks --types purchase.state_changed', 'one more'],
      ['subscribers change books --header @headers.txt', 'headers from a file, a line each'],
      ['subscribers change books --status active', 'send what waits'],
      ['subscribers test books', 'does it answer?'],
      ['subscribers resume books', 'it was mended: go on at once'],
    ],
  },
  { list, show, add, change, resume, remove, test, 'rotate-secret': rotate },
);
