import { describe, expect, test } from 'vitest';
import { createNamespaces } from '../../packages/simulator/src/namespaces.ts';
import { settle } from '../../packages/simulator/src/options.ts';
import { startCaller } from './caller.ts';

/** Namespaces with a held clock, called from addresses of the test's choice. */
function startNamespaces() {
  let elapsed = 0;
  const namespaces = createNamespaces({ options: settle({}), url: () => '', listener: null, elapsed: () => elapsed });
  return {
    namespaces,
    pass: (ms: number) => {
      elapsed += ms;
    },
    call: (name: string, caller: string) => namespaces.find(`/ns/${name}`)!.namespace(caller),
  };
}

const token = async (base: string): Promise<string> => {
  const form = { client_id: 'demo-client', client_secret: 'demo-secret', grant_type: 'client_credentials' };
  const answer = await fetch(`${base}/oauth2/token`, { method: 'POST', body: new URLSearchParams(form) });
  return ((await answer.json()) as { access_token: string }).access_token;
};
const status = async (base: string, bearer: string, PurchaseId: string): Promise<number> => {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${bearer}` };
  const body = JSON.stringify({ PurchaseId });
  return (await fetch(`${base}/CheckOut2Api/GetPaymentStatus`, { method: 'POST', headers, body })).status;
};

describe('namespaces', () => {
  test('share nothing: purchases, tokens, faults, pages, counters and clocks', async () => {
    const t = await startCaller();
    const [a, b] = [t.simulator.namespace('test-a'), t.simulator.namespace('test-b')];
    expect(a.url).toBe(`${t.simulator.url}/ns/test-a`);
    a.control.negotiate({ purchaseId: 'same' });
    b.control.negotiate({ purchaseId: 'same' });
    const bearer = await token(a.url);
    expect(await status(a.url, bearer, 'same')).toBe(200);
    expect(await status(b.url, bearer, 'same')).toBe(401);
    a.control.fail({ kind: '503', for: '1h' });
    a.control.breakPage();
    a.control.setLatency(1);
    const before = b.control.settings();
    expect(a.control.advance('2h').advanced).toBe(7_200_000);
    expect(a.control.get('same')!.state.name).toBe('SessionTimedOut');
    expect(b.control.get('same')!.state.name).toBe('New');
    expect(b.control.settings()).toEqual(before);
    expect(b.control.settings()).toMatchObject({ faults: [], brokenPages: [], latency: 0, clock: { advanced: 0 } });
    expect([a, b, t.simulator].map(({ control }) => control.counters().calls.token)).toEqual([1, 0, 0]);
    expect(t.control.list()).toEqual([]);
  });

  test('begin when an address names them, and are listed', async () => {
    const t = await startCaller();
    await fetch(`${t.simulator.url}/ns/from-http/control/negotiate`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"purchaseId": "p"}' },
    });
    expect(t.simulator.namespace('from-http').control.get('p')).not.toBeNull();
    const page = await (await fetch(`${t.simulator.url}/ns/from-http/`)).text();
    expect(page).toContain('data-state="control/purchases/p/state"');
    expect(JSON.parse((await t.steer('/namespaces')).text)).toEqual({
      namespaces: [
        { name: '', url: t.simulator.url, purchases: 0 },
        { name: 'from-http', url: `${t.simulator.url}/ns/from-http`, purchases: 1 },
      ],
    });
  });

  test('have names of a few characters', async () => {
    const t = await startCaller();
    for (const name of ['', 'a b', '../x', 'x'.repeat(65)]) {
      expect(() => t.simulator.namespace(name)).toThrow(/^namespace: .*1 to 64 letters/);
    }
    const answer = await t.call('/ns/a%20b/control/settings');
    expect([answer.status, JSON.parse(answer.text).detail]).toEqual([404, expect.stringContaining('1 to 64 letters')]);
  });

  test('make purchases that follow from seed and name alone', async () => {
    const made = async (names: readonly string[]) => {
      const { simulator } = await startCaller({ seed: 7 });
      return new Map(names.map((name) => [name, simulator.namespace(name).control.add().purchaseId]));
    };
    const [one, two] = [await made(['a', 'b']), await made(['b', 'a'])];
    expect(one.get('a')).toBe(two.get('a'));
    expect(one.get('a')).not.toBe(one.get('b'));
  });

  test('beyond the thousandth, the one that was called the longest time ago is forgotten', async () => {
    const t = await startCaller();
    for (let at = 0; at < 1_000; at++) t.simulator.namespace(`n${at}`).control.negotiate({ purchaseId: 'p' });
    t.simulator.namespace('n0');
    t.simulator.namespace('one-more');
    expect(t.simulator.namespace('n0').control.get('p')).not.toBeNull();
    expect(t.simulator.namespace('n1').control.get('p')).toBeNull();
  });

  test('of one address are as many as one caller needs; one without a call for a minute makes room', () => {
    const t = startNamespaces();
    for (let at = 0; at < 500; at++) t.call(`n${at}`, '10.0.0.1').control.negotiate({ purchaseId: 'p' });
    t.pass(59_999);
    expect(() => t.call('one-more', '10.0.0.1')).toThrow(
      /^500 namespaces of this address are in use.*use a name again after a reset/,
    );
    t.call('n0', '10.0.0.1');
    t.call('of-another', '10.0.0.2');
    t.pass(1);
    t.call('one-more', '10.0.0.1');
    const names = t.namespaces.list().map(({ name }) => name);
    expect([names.length, names.includes('n0'), names.includes('n1')]).toEqual([502, true, false]);
  });

  test('are a thousand in all, and those that this process holds stay', () => {
    const t = startNamespaces();
    const held = t.namespaces.named('held');
    for (let at = 0; at < 999; at++) t.call(`n${at}`, `10.0.0.${Math.floor(at / 400)}`);
    expect(() => t.call('one-more', '10.0.0.9')).toThrow(/^1000 namespaces are in use/);
    t.pass(60_000);
    t.call('one-more', '10.0.0.9');
    expect(t.namespaces.list()).toHaveLength(1_001);
    expect(t.namespaces.named('held')).toBe(held);
  });

  test('are forgotten after an hour without a call, unless this process holds them', () => {
    const t = startNamespaces();
    t.namespaces.named('held');
    t.call('called', '10.0.0.1');
    t.call('unused', '10.0.0.1');
    t.pass(3_000_000);
    t.call('called', '10.0.0.1');
    t.pass(600_000);
    t.namespaces.arrive();
    expect(t.namespaces.list().map(({ name }) => name)).toEqual(['', 'held', 'called']);
  });

  test('beyond the most that are kept are refused over HTTP, with what to do', async () => {
    const t = await startCaller();
    const counted = async (name: string) => (await t.call(`/ns/${name}/control/counters`)).status;
    const names = Array.from({ length: 500 }, (_, at) => `n${at}`);
    expect(new Set(await Promise.all(names.map(counted)))).toEqual(new Set([200]));
    for (const path of ['/ns/one-more/control/counters', '/ns/one-more/oauth2/token']) {
      const { status, headers, text } = await t.call(path);
      expect([status, headers['content-type']]).toEqual([503, 'application/problem+json']);
      expect(JSON.parse(text)).toMatchObject({
        code: 'too_many_namespaces',
        detail: expect.stringContaining('not called for 60 s'),
      });
    }
    expect(await counted('n499')).toBe(200);
    expect(t.simulator.namespace('one-more').url).toBe(`${t.simulator.url}/ns/one-more`);
  });

  test('leave the listener alone, which all of them share', async () => {
    const t = await startCaller();
    await expect(t.simulator.namespace('a').control.down()).rejects.toThrow('all namespaces share one listener');
    const answer = await fetch(`${t.simulator.url}/ns/a/control/down`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' },
    });
    expect([answer.status, (await answer.json()) as object]).toEqual([409, expect.objectContaining({ code: 'shared_listener' })]);
  });
});

describe('reset', () => {
  test('brings a namespace back to its start, but no id twice, and leaves tokens valid', async () => {
    const t = await startCaller({ load: 6 });
    const first = t.control.negotiate();
    await t.status(first.purchaseId);
    t.control.setLoad(60);
    t.control.breakPage();
    t.control.fail({ kind: '500', only: 'token', for: '1h' });
    t.control.setLatency(1);
    t.control.advance('1h');
    const other = t.simulator.namespace('other');
    other.control.negotiate({ purchaseId: 'kept' });
    expect((await t.steer('/reset', {})).status).toBe(200);
    expect(t.control.settings()).toMatchObject({
      ...{ load: 6, brokenPages: [], faults: [], latency: 0, clock: { advanced: 0 }, purchases: 0 },
    });
    expect(t.control.counters().calls).toEqual({ token: 0, authorization: 0, status: 0, invoice: 0 });
    const second = t.control.negotiate();
    expect(second.purchaseId).not.toBe(first.purchaseId);
    expect(second.number).toBeGreaterThan(first.number);
    // With the token of before.
    expect((await t.status(second.purchaseId)).status).toBe(200);
    expect((await t.status(first.purchaseId)).status).toBe(404);
    expect(other.control.get('kept')).not.toBeNull();
  });

  test('of all namespaces comes by one call', async () => {
    const t = await startCaller();
    const namespace = t.simulator.namespace('a');
    const fill = () => {
      for (const { control } of [t.simulator, namespace]) control.negotiate({ purchaseId: 'p' });
    };
    fill();
    expect((await t.steer('/reset', { all: true })).status).toBe(200);
    fill();
    t.simulator.resetAll();
    fill();
    // A call without a body means the namespace that its address names.
    await t.call('/control/reset', { method: 'POST' });
    expect([t.simulator, namespace].map(({ control }) => control.list().length)).toEqual([0, 1]);
  });

  test('ends no callback of new purchases', async () => {
    const t = await startCaller();
    const seen: string[] = [];
    t.control.onPurchase(({ purchaseId }) => seen.push(purchaseId));
    t.control.reset();
    t.control.negotiate({ purchaseId: 'after' });
    expect(seen).toEqual(['after']);
  });
});

describe('the clock', () => {
  test('is advanced for purchases and their load, over HTTP too, and tokens, faults and counters keep to the real clock', async () => {
    const t = await startCaller();
    t.control.setLoad(60);
    const bearer = await token(t.simulator.url);
    t.control.fail({ kind: '503', only: 'invoice', for: '1m' });
    const { purchaseId, createdAt } = t.control.negotiate();
    const answer = await t.steer('/clock/advance', { by: '30m' });
    expect(JSON.parse(answer.text)).toEqual({ now: createdAt + 1_800_000, advanced: 1_800_000 });
    expect(t.control.settings().purchases).toBeGreaterThan(1_000);
    expect(await status(t.simulator.url, bearer, purchaseId)).toBe(200);
    expect(t.control.settings().faults).toHaveLength(1);
    t.control.customer(purchaseId, 'pays');
    const { Completed, Created } = JSON.parse((await t.status(purchaseId)).text);
    expect(Date.parse(`${Completed}Z`) - Date.parse(`${Created}Z`)).toBe(1_800_000);
  });

  test('says what it cannot do', async () => {
    const { control } = await startCaller();
    expect(() => control.advance('soon')).toThrow('by: "soon" is not a duration; write it like 250ms');
    expect(() => control.advance(-1)).toThrow('by: -1 is not a duration');
    expect(() => control.advance('40000d')).toThrow('more than 36500d ahead');
  });
});
