/** `slack test` and its like: prove that messages arrive and how they look, by the way that real ones take. */

import { type TestedChannel, testChannel } from '../../actions/channels/test-channel.ts';
import { nearest } from '../../config/kinds/nearest.ts';
import { PEOPLE_KINDS, type PeopleKind } from '../../config/kinds/people-kinds.ts';
import { loadSettings } from '../../config/load-settings.ts';
import type { ChannelSettings } from '../../config/settings.ts';
import { AppError } from '../../domain/values/errors.ts';
import { JSON_OPTION } from '../terminal/arguments.ts';
import { declare, group, type Register } from '../terminal/command.ts';
import type { CliContext } from '../terminal/context.ts';
import { counted, printJson, printLine, printRemark, styled } from '../terminal/output.ts';

export function registerKind(kind: PeopleKind): Register {
  const { title, variable, showsPresent } = PEOPLE_KINDS[kind];
  const [count, examplesOf] = showsPresent
    ? ['two alerts', 'one that fires, which the next one ends']
    : ['three messages', 'an incident, one that is over, and single stuck checkouts'];
  const test = declare(
    {
      summary: `post ${count}, marked as a test`,
      description: `Posts ${count} that are marked as a test to every configured channel: ${examplesOf}. Needs no daemon and no database.`,
      options: [
        ['--channel <name>', `only this channel${variable === null ? '' : `; that of ${variable} is called default`}`],
        ['--longest', 'the longest messages there can be, instead of typical ones'],
        JSON_OPTION,
      ],
      examples: [
        [`${kind} test`, `all channels; exit code 1 when ${title} did not take a message`],
        [`${kind} test --channel night`, `one channel of ${kind}.channels in the settings file`],
        [`${kind} test --json`, 'for programs'],
      ],
    },
    (context, given) => testChannels(context, kind, given),
  );
  return group({ description: `Shows that messages arrive, and how they look (${title}).` }, { test });
}

async function testChannels(
  context: CliContext,
  kind: PeopleKind,
  { channel = null, longest, json }: { channel?: string | null; longest: boolean; json: boolean },
): Promise<void> {
  const settings = loadSettings(context.env);
  const ofKind = settings.channels.filter((each) => each.kind === kind);
  const chosen = chooseChannels(ofKind, kind, channel);
  // Not among the results, which a program may read. The daemon is not asked: the command needs no database.
  printRemark(
    context,
    'The channels and their addresses are those of the settings of this terminal; a daemon with other settings has others. The page /channels of the console tests those of the daemon.',
  );
  const size = longest ? 'longest' : 'typical';
  const tested = await Promise.all(
    chosen.map(async (each) => ({ channel: each.name, ...(await testChannel(each, settings, size)) })),
  );
  const failed = tested.filter(({ ok }) => !ok);
  if (json) printJson(context, { ok: failed.length === 0, channels: tested });
  else for (const each of tested) printLine(context, sentence(context, kind, each));
  if (failed.length > 0) {
    const names = failed.map((each) => each.channel).join(', ');
    throw new AppError(
      'unavailable',
      `${PEOPLE_KINDS[kind].title} did not take every message, of ${counted(failed.length, 'channel')}: ${names}`,
    );
  }
}

function chooseChannels(
  channels: readonly ChannelSettings[],
  kind: PeopleKind,
  wanted: string | null,
): readonly ChannelSettings[] {
  if (channels.length === 0) {
    const { title, how, variable } = PEOPLE_KINDS[kind];
    const set = variable === null ? '' : `set ${variable} to its address, or `;
    throw new AppError(
      'configuration',
      `there is no ${title} channel: ${how} and ${set}name channels under ${kind}.channels in the settings file`,
    );
  }
  if (wanted === null) return channels;
  const names = channels.map(({ name }) => name);
  const found = channels.filter(({ name }) => name === wanted);
  if (found.length > 0) return found;
  const meant = nearest(wanted, names);
  const hint = meant === null ? `there are ${names.join(', ')}` : `did you mean ${meant}?`;
  throw new AppError('invalid', `--channel: there is no channel "${wanted}"; ${hint}`);
}

function sentence(
  context: CliContext,
  kind: PeopleKind,
  { channel, ok, messages, detail }: TestedChannel & { readonly channel: string },
): string {
  return ok
    ? `${styled(context, 'green', 'ok')}      ${channel}: ${PEOPLE_KINDS[kind].title} took ${counted(messages, 'message')}; look at the channel.`
    : `${styled(context, 'red', 'failed')}  ${channel}: ${detail}`;
}
