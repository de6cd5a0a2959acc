import { expect, test } from 'vitest';
import { openSlack } from '../../../src/demo/cast/slack.ts';

test('the stand-in for Slack shows messages of its own address alone, which differs from run to run', async () => {
  const shown: string[] = [];
  const [slack, other] = await Promise.all([openSlack(({ text }) => shown.push(text)), openSlack(() => undefined)]);
  const { origin, pathname } = new URL(slack.url);
  const post = async (path: string, text?: string) =>
    (await fetch(origin + path, { method: 'POST', body: JSON.stringify({ text }) })).status;
  for (const path of ['/', '/services/demo', new URL(other.url).pathname, `${pathname}/`, `${pathname}?x`]) {
    expect([path, await post(path, 'from a stranger')]).toEqual([path, 404]);
  }
  expect([await post(pathname, 'of the demo'), await post(pathname)]).toEqual([200, 400]);
  expect([shown, slack.messages(), slack.posts().map(({ text }) => text)]).toEqual([['of the demo'], 1, ['of the demo']]);
  await Promise.all([slack.close(), other.close()]);
});
