/** The settings for people: each value in the words it would be written in, where it came from, and never a secret. */
import type * as z from 'zod';
import { policyOf, policyOfSite, type StatePolicy } from '../domain/polling/poll-plan.ts';
import { stateName, stateValue } from '../domain/purchases/states.ts';
import { formatDuration } from '../domain/values/duration.ts';
import { wayText } from '../domain/values/way.ts';
import { sharesOf, sharesText } from './kinds/connection-shares.ts';
import { type Field, notes } from './kinds/field.ts';
import { apiKey, file, site, subscriber } from './schema/file-schema.ts';
import { peopleChannel } from './schema/people-schema.ts';
import { VARIABLES, type VariableName } from './schema/variables.ts';
import type { Settings, SiteSettings } from './settings.ts';
import { namedAddresses } from './ways.ts';

/** One line of `config`. */
export interface DescribedSetting {
  /** The variable's name, or the path in the file. */
  readonly name: string;
  /** The value as JSON; a secret is `set` or `not set`. */
  readonly value: unknown;
  /** The value as a line of text. */
  readonly text: string;
  readonly origin: string;
}

function described(name: string, field: Field<unknown>, value: unknown, origin: string): DescribedSetting {
  const { kind, otherwise, isList } = notes.get(field)!;
  const isEmptySecret = kind.secret && Array.isArray(value) && value.length === 0;
  if (value === null || value === undefined || isEmptySecret) {
    if (!kind.secret) return { name, value: null, text: otherwise, origin };
    return { name, value: 'not set', text: otherwise === 'none' ? 'not set' : `not set: ${otherwise}`, origin };
  }
  if (kind.secret) {
    const text = kind.outline === undefined ? 'set' : `set (${kind.outline(value)})`;
    return { name, value: text, text, origin };
  }
  const written = isList ? (value as unknown[]).map(kind.write) : kind.write(value);
  const text = Array.isArray(written) ? written.join(', ') || 'none' : String(written);
  return { name, value: written, text, origin };
}

/** How a state is polled, in a few words: `every 5s to 5m, growth 0.1, never stuck`. */
export function planInWords(policy: StatePolicy): string {
  const { first, growth, most } = policy.poll;
  const rechecks = policy.recheck.map(formatDuration).join(', ');
  if (policy.final) return rechecks === '' ? 'final' : `final, rechecked after ${rechecks}`;
  const stuck =
    policy.stuckAfter === null
      ? 'never stuck'
      : `stuck after ${policy.auto ? `a limit that is learned, at first ${formatDuration(policy.stuckAfter)}` : formatDuration(policy.stuckAfter)}`;
  return `every ${formatDuration(first)} to ${formatDuration(most)}, growth ${growth}, ${stuck}`;
}

function planAsWritten(policy: StatePolicy) {
  const { first, growth, most } = policy.poll;
  return {
    poll: { first: formatDuration(first), growth, most: formatDuration(most) },
    stuckAfter: policy.auto ? 'auto' : policy.stuckAfter === null ? 'never' : formatDuration(policy.stuckAfter),
    final: policy.final,
    recheck: policy.recheck.map(formatDuration),
  };
}

/** Variables that are one value of the settings. */
const PLAIN = [
  ['PURCHASE_WATCH_CONFIG', 'configFile'],
  ['DATABASE_URL', 'databaseUrl'],
  ['DATABASE_LISTEN_URL', 'listenUrl'],
  ['DATABASE_POOL_MODE', 'poolMode'],
  ['DATABASE_CONNECTIONS', 'connections'],
  ['DATA_DIR', 'dataDir'],
  ['SECRETS_KEY', 'secretsKey'],
  ['SECRETS_KEY_PREVIOUS', 'secretsKeyPrevious'],
  ['HOST', 'host'],
  ['PORT', 'port'],
  ['SHUTDOWN_TIMEOUT', 'shutdownTimeout'],
  ['LOG_LEVEL', 'logLevel'],
] as const satisfies readonly (readonly [VariableName, keyof Settings])[];

const { states: _plans, ...siteFields } = site.shape;

/** A line for each setting of a section, and of the sections in it. `origin` answers where the value of a path came from. */
function sectionLines(path: string, shape: object, values: object, origin: (name: string) => string): DescribedSetting[] {
  return Object.entries(shape as Record<string, Field<unknown>>)
    .filter(([key]) => key in values)
    .flatMap(([key, field]) => {
      const at = `${path}.${key}`;
      const value = (values as Record<string, unknown>)[key];
      if (notes.has(field)) return [described(at, field, value, origin(at))];
      const inner = (field as unknown as z.ZodOptional<z.ZodObject | z.ZodRecord<z.ZodString, Field<unknown>>>).unwrap();
      // A section that may be missing.
      if ('shape' in inner) return value == null ? [] : sectionLines(at, inner.shape, value, origin);
      // A mapping by names of one's own, such as headers.
      return Object.entries(value as object).map(([name, each]) =>
        described(`${at}.${name}`, inner.valueType, each, origin(`${at}.${name}`)),
      );
    });
}

/** Every setting in the order of the reference. */
export function describeSettings(settings: Settings): DescribedSetting[] {
  const origin = (name: string) => settings.origins.get(name) ?? 'default';
  /** Where a variable that is set came from, with its name. */
  const originOf = (name: string): string | undefined => {
    const from = settings.origins.get(name);
    return from === undefined || from.includes(name) ? from : `${from} (${name})`;
  };
  const variable = (name: VariableName, value: unknown) => described(name, VARIABLES[name], value, origin(name));
  const inSection = (path: string, shape: object, values: object) => sectionLines(path, shape, values, origin);
  const named = (path: string, shape: object, { name, ...values }: { name: string }, prefix: string) =>
    inSection(`${path}.${name}`, shape, values).map((each) => {
      // The one named `default` may be made of variables, which go by other names.
      const key = each.name.split('.').at(-1)!;
      // One variable has the new secret and the old ones.
      const own = key === 'oldSecrets' && each.value === 'set' ? 'secret' : key;
      const from = `${prefix}${own.replace(/[A-Z]/g, '_$&').toUpperCase()}`;
      const mayBeVariable = name === 'default' && each.origin === 'default' && !settings.ignored.includes(from);
      return { ...each, origin: (mayBeVariable ? originOf(from) : undefined) ?? each.origin };
    });
  const plan = (name: string, policy: StatePolicy): DescribedSetting => {
    const key = [...settings.origins.keys()].find((path) => {
      const [section, state = ''] = path.split('.');
      return section === 'states' && (state === name || (state !== 'default' && stateName(stateValue(state)!) === name));
    });
    return { name: `states.${name}`, value: planAsWritten(policy), text: planInWords(policy), origin: origin(key ?? '') };
  };
  const plansOf = ({ name, states = {} }: SiteSettings): DescribedSetting[] =>
    Object.keys(states).map((key) => {
      const policy = policyOfSite(settings.policy, name);
      const ofState = key === 'default' ? policy.fallback : policyOf(policy, stateValue(key)!);
      return {
        ...plan(key, ofState),
        name: `sites.${name}.states.${key}`,
        origin: settings.configFile === null ? 'default' : `file ${settings.configFile}`,
      };
    });
  const { shape } = file;
  /** Variables that win over a line of the file. */
  const winners = new Map<string, VariableName>([
    ['slack.deadMansSwitch', 'DEAD_MANS_SWITCH_URL'],
    ['webhooks.allowAddresses', 'WEBHOOK_ALLOW_ADDRESSES'],
    ['webhooks.apiAllowAddresses', 'WEBHOOK_API_ALLOW_ADDRESSES'],
    ['webhooks.proxy', 'WEBHOOK_PROXY'],
  ]);
  const fromWinner = (each: DescribedSetting): DescribedSetting => ({
    ...each,
    origin: originOf(winners.get(each.name) ?? '') ?? each.origin,
  });
  const { channels: _channels, ...slackShape } = shape.slack.unwrap().shape;
  const ways = new Map(namedAddresses(settings).map(({ setting, way }) => [setting, way]));
  const completed = (each: DescribedSetting): DescribedSetting => {
    if (each.name === 'DATABASE_CONNECTIONS') {
      return { ...each, text: `${each.text} (${sharesText(sharesOf(settings.connections))})` };
    }
    const way = ways.get(each.name);
    return way == null || way.by === null ? each : { ...each, text: `${each.text}, ${wayText(way)}` };
  };

  const lines = [
    ...PLAIN.flatMap(([name, key]) => variable(name, settings[key])),
    ...(['DATABASE_PASSWORD', 'API_KEY', 'API_READ_KEY'] as const).map((name) => variable(name, settings.origins.get(name))),
    ...settings.sites.flatMap((each) => [...named('sites', siteFields, each, 'CHECKOUT_'), ...plansOf(each)]),
    ...[...settings.policy.states].map(([value, policy]) => plan(stateName(value), policy)),
    plan('default', settings.policy.fallback),
    ...inSection('polling', shape.polling.unwrap().shape, settings.policy),
    ...inSection('slack', slackShape, settings.slack).map(fromWinner),
    ...settings.channels.flatMap((each) =>
      named(`${each.kind}.channels`, peopleChannel[each.kind].shape, each, `${each.kind.toUpperCase()}_`),
    ),
    ...settings.subscribers.flatMap((each) => named('subscribers', subscriber.shape, each, 'WEBHOOK_')),
    ...inSection('webhooks', shape.webhooks.unwrap().shape, settings.webhooks).map(fromWinner),
    ...settings.apiKeys.flatMap((each) => {
      const field = origin(`api.keys.${each.name}.key`) === 'default' ? 'hash' : 'key';
      const values = { scopes: each.scopes, [field]: each.hash, expires: each.expires };
      return each.name.startsWith('API_') ? [] : inSection(`api.keys.${each.name}`, apiKey.shape, values);
    }),
    ...inSection('store', { fields: shape.store.unwrap().shape.fields }, settings.store),
    ...inSection('store.retention', shape.store.unwrap().shape.retention.unwrap().shape, settings.store.retention),
  ];
  return lines.map(completed);
}
