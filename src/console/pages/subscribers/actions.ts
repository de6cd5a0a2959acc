/** Posts of the forms of a subscriber's page, which shows what the API refuses beside the values that were typed. */

import { readMoment } from '../../../actions/subscribers/moment.ts';
import type { NewSecretBody } from '../../../api/subscribers/actions.ts';
import type { DeliveryDetailsBody, ReplayBody, SubscriberBody } from '../../../api/subscribers/fields.ts';
import { refusalIn } from '../../frame/api-calls.ts';
import type { View } from '../../frame/page.ts';
import { type Ask, action, type GoOn, type PageRoute } from '../../frame/page-route.ts';
import { below } from '../../frame/request.ts';
import { changesOf } from './edit-form.ts';
import type { PostedForm } from './forms.ts';
import { subscriberView } from './one.ts';
import { secretView } from './secret.ts';

/** Long enough for most receivers; the page that follows goes on looking. */
const TEST_WAIT = '3s';

export const subscriberActions: readonly PageRoute[] = [
  posting('test', 'other', async (ask) => {
    const { id } = await ask.api.send<DeliveryDetailsBody>('POST', `${apiPath(ask)}/test?wait=${TEST_WAIT}`);
    return done(ask, 'test', { delivery: id });
  }),
  posting('resume', 'other', async (ask) => {
    await ask.api.send('POST', `${apiPath(ask)}/resume`);
    return backTo(ask, 'resumed') ?? done(ask, 'resumed');
  }),
  posting('status', 'other', async (ask) => {
    const status = ask.form.status === 'off' ? 'off' : 'active';
    await ask.api.send('PATCH', apiPath(ask), { status });
    return backTo(ask, 'resumed') ?? done(ask, status === 'off' ? 'off' : 'on');
  }),
  posting('edit', 'edit', async (ask) => {
    const changes = changesOf(ask.form, await ask.api.get<SubscriberBody>(apiPath(ask)));
    if (Object.keys(changes).length === 0) return done(ask, 'same');
    await ask.api.send('PATCH', apiPath(ask), changes);
    return done(ask, 'changed');
  }),
  posting('remove', 'other', async (ask) => {
    await ask.api.send('DELETE', apiPath(ask));
    return { goTo: '/subscribers?done=removed' };
  }),
  posting('rotate', 'rotate', async (ask) => {
    const { overlap = '' } = ask.form;
    const { secret, oldSecretsUntil } = await ask.api.send<NewSecretBody>('POST', `${apiPath(ask)}/rotate-secret`, { overlap });
    return secretView(ask, { name: ask.params.name!, secret, reason: 'rotated', oldUntil: oldSecretsUntil });
  }),
  posting('replay', 'replay', async (ask) => {
    const { types = '', count } = ask.form;
    const { since, until } = rangeOf(ask);
    const range = { since, until, types: types === '' ? null : [types] };
    const replayed = await ask.api.send<ReplayBody>('POST', `${apiPath(ask)}/replay`, { ...range, dryRun: count === undefined });
    if (count !== undefined) return done(ask, 'replay', { count: String(replayed.count) });
    // The confirmed replay is of the very time that was counted.
    return subscriberView(ask, {
      ...postedOf(ask, 'replay'),
      dryRun: { of: 'replay', found: replayed, fields: { since, until, types } },
    });
  }),
  posting('retry', 'retry', async (ask) => {
    const { status = 'exhausted', count } = ask.form;
    const retried = await ask.api.send<ReplayBody>('POST', `${apiPath(ask)}/retry`, { status, dryRun: count === undefined });
    if (count !== undefined) return done(ask, 'retry', { count: String(retried.count) });
    return subscriberView(ask, { ...postedOf(ask, 'retry'), dryRun: { of: 'retry', found: retried, fields: { status } } });
  }),
];

function apiPath({ params }: Ask): string {
  return `/v1/subscribers/${encodeURIComponent(params.name!)}`;
}

function done({ params }: Ask, word: string, more: Readonly<Record<string, string>> = {}): GoOn {
  return { goTo: `/subscribers/${encodeURIComponent(params.name!)}?${new URLSearchParams({ done: word, ...more })}` };
}

/** The page that the form was on, where it names one. */
function backTo({ form }: Ask, word: string): GoOn | null {
  return form.back === undefined ? null : { goTo: `${below(form.back)}?done=${word}` };
}

function posting(word: string, at: PostedForm['at'], act: (ask: Ask) => Promise<View | GoOn>): PageRoute {
  return action(`/subscribers/:name/${word}`, async (ask) => {
    try {
      return await act(ask);
    } catch (error) {
      const refusal = refusalIn(error, ({ status, code }) => status < 500 && code !== 'subscriber_not_found');
      return subscriberView(ask, { ...postedOf(ask, at), refusal });
    }
  });
}

function postedOf({ form }: Ask, at: PostedForm['at']): PostedForm {
  return { at, values: form, refusal: null, dryRun: null };
}

/** From when to when, as moments; what is no moment stays as it was typed, for the API to refuse. */
function rangeOf({ form: { since = '', until = '' }, now }: Ask): { since: string; until: string } {
  const exact = (text: string): string => {
    const read = readMoment(text.trim(), now);
    return 'is' in read ? new Date(read.is).toISOString() : text;
  };
  return { since: exact(since), until: until.trim() === '' ? new Date(now).toISOString() : exact(until) };
}
