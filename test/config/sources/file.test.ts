import { describe, expect, test } from 'vitest';
import { loadSettings } from '../../../src/config/load-settings.ts';
import { DEFAULT_POLL_POLICY, policyOf } from '../../../src/domain/polling/poll-plan.ts';
import { loadFile, problemsOf, SIGNING_SECRET, SITE, temporaryFile } from '../files.ts';

const problems = (content: string, env: NodeJS.ProcessEnv = {}) => problemsOf(() => loadFile(content, env));

const WHOLE = `
sites:
  se: { baseUrl: https://se.example/api/, auth: oauth2, clientId: me, clientSecret: \${SE_SECRET}, timeZone: Europe/Helsinki, maxRps: 5, concurrency: 2, timeout: 4s, invoices: true, formerly: [default] }
states:
  WaitingForCardPayments: { poll: { first: 6s, growth: 0.2, most: 7m }, stuckAfter: 20m }
  Completed: { final: true, recheck: [24h, 1h] }
polling: { giveUpAfter: 10d, unreadableAfter: 3, sessionLength: 45m }
slack: { groupWait: 1s, groupInterval: 2m, repeatInterval: 3h, digest: "0 8 * * *" }
subscribers:
  shop: { url: https://shop.example, secret: \${SHOP_SECRET}, types: [purchase.stuck], sites: [se], states: [Completed, 3, 17] }
webhooks: { schedule: [5s, 1s], timeout: 3s, concurrency: 8, allowAddresses: [10.0.0.0/8], proxy: "http://proxy.example:3128" }
store: { fields: [Price], retention: { settled: 1d, attempts: forever } }
`;
const SECRETS = { SE_SECRET: 'hush', SHOP_SECRET: SIGNING_SECRET };

describe('a whole file', () => {
  test('says everything', () => {
    const { sites, policy, slack, subscribers, webhooks, store } = loadFile(WHOLE, SECRETS);
    expect(sites).toEqual([
      {
        name: 'se',
        baseUrl: 'https://se.example/api',
        auth: 'oauth2',
        clientId: 'me',
        clientSecret: 'hush',
        timeZone: 'Europe/Helsinki',
        maxRps: 5,
        concurrency: 2,
        timeout: 4_000,
        proxy: null,
        invoices: true,
        formerly: ['default'],
      },
    ]);
    expect(policy.states.get(6)).toEqual({
      poll: { first: 6_000, growth: 0.2, most: 420_000 },
      stuckAfter: 1_200_000,
      auto: false,
      final: false,
      recheck: [],
    });
    expect(policy.states.get(2)!.recheck).toEqual([3_600_000, 86_400_000]);
    expect(policy).toMatchObject({ giveUpAfter: 864_000_000, unreadableAfter: 3, sessionLength: 2_700_000 });
    expect(slack).toEqual({
      deadMansSwitch: null,
      maxPerHour: 20,
      stuck: 'auto',
      paidTwice: true,
      quietFor: 600_000,
      groupWait: 1_000,
      groupInterval: 120_000,
      repeatInterval: 10_800_000,
      digest: '0 8 * * *',
    });
    expect(subscribers).toEqual([
      {
        name: 'shop',
        kind: 'webhook',
        url: 'https://shop.example/',
        secret: SIGNING_SECRET,
        oldSecrets: [],
        signingKey: null,
        format: 'standard',
        headers: {},
        clientCertificate: null,
        clientKey: null,
        types: ['purchase.stuck'],
        sites: ['se'],
        states: [2, 3, 17],
      },
    ]);
    expect(webhooks).toEqual({
      schedule: [5_000, 1_000],
      timeout: 3_000,
      concurrency: 8,
      allowAddresses: ['10.0.0.0/8'],
      apiAllowAddresses: [],
      proxy: 'http://proxy.example:3128/',
    });
    expect(store).toEqual({
      fields: ['Price'],
      retention: {
        settled: 86_400_000,
        attempts: Number.POSITIVE_INFINITY,
        events: 90 * 86_400_000,
        trends: 400 * 86_400_000,
        at: '17 3 * * *',
      },
    });
  });

  test('takes the place of the site variables, even of wrong ones, and names what it ignores', () => {
    const settings = loadFile(WHOLE, { ...SECRETS, ...SITE, CHECKOUT_TIMEOUT: 'soon' });
    expect(settings.sites.map((site) => site.name)).toEqual(['se']);
    expect(settings.ignored).toEqual([...Object.keys(SITE), 'CHECKOUT_TIMEOUT']);
  });

  test('gives way to WEBHOOK_ALLOW_ADDRESSES', () => {
    expect(loadFile(WHOLE, { ...SECRETS, WEBHOOK_ALLOW_ADDRESSES: 'fd00::/8' }).webhooks.allowAddresses).toEqual(['fd00::/8']);
  });

  test('gives way to WEBHOOK_PROXY, which may come from a file', () => {
    const proxyOf = (env: NodeJS.ProcessEnv) => loadFile(WHOLE, { ...SECRETS, ...env }).webhooks.proxy;
    expect(proxyOf({ WEBHOOK_PROXY: 'https://me:hush@other.example:8443' })).toBe('https://me:hush@other.example:8443/');
    expect(proxyOf({ WEBHOOK_PROXY_FILE: temporaryFile('http://me:hush@other.example\n') })).toBe(
      'http://me:hush@other.example/',
    );
  });

  test('may be empty, or have sections without a line left', () => {
    expect(loadFile('').port).toBe(8080);
    expect(loadFile('slack:\nsites:\nstates:\n', SITE).sites).toHaveLength(1);
  });

  test('may name its schema', () => {
    expect(problems('$schema: ./purchase-watch.schema.json')).toEqual([]);
  });
});

describe('placeholders', () => {
  const clientId = (text: string, env: NodeJS.ProcessEnv = {}) =>
    loadFile(`sites: { se: { baseUrl: https://se.example, clientId: ${text}, clientSecret: x } }`, env).sites[0]!.clientId;

  test('stand anywhere in a text, quoted or not', () => {
    const env = { ONE: '1', TWO: '2 {}: #"' };
    expect(clientId(`a-\${ONE}-\${TWO}`, env)).toBe('a-1-2 {}: #"');
    expect(clientId(`"\${ONE}\${ONE}"`, env)).toBe('11');
  });

  test('are left alone behind another dollar', () => {
    expect(clientId(`"$\${ONE}"`)).toBe(`\${ONE}`);
    expect(clientId('a$b$$c')).toBe('a$b$$c');
  });

  test('fill in numbers too', () => {
    expect(loadFile(`polling: { unreadableAfter: \${N} }`, { N: '7' }).policy.unreadableAfter).toBe(7);
  });

  test('may come from a file, as secrets do', () => {
    expect(clientId(`\${ID}`, { ID_FILE: temporaryFile('from a file\n') })).toBe('from a file');
  });

  test('without their variable are one problem', () => {
    expect(problems(`polling: { unreadableAfter: \${NOPE} }`)).toEqual([
      `polling.unreadableAfter: \${NOPE}: there is no variable NOPE (nor NOPE_FILE)`,
    ]);
  });

  test('must be well formed', () => {
    expect(problems(`polling: { giveUpAfter: "\${a b" }`)).toEqual([
      expect.stringMatching(/^polling\.giveUpAfter: a placeholder is written/),
    ]);
  });

  test('make their variables known, so that these are not called mistyped', () => {
    const env = { WEBHOOK_SHOP_SECRET: SIGNING_SECRET };
    expect(problems(`subscribers: { shop: { url: https://shop.example, secret: \${WEBHOOK_SHOP_SECRET} } }`, env)).toEqual([]);
  });

  test('never let out what they stand for', () => {
    const lines = problems(`sites: { se: { baseUrl: \${S}, clientId: a, clientSecret: b, maxRps: \${S}, auth: \${S} } }`, {
      S: 'hunter2',
    });
    expect(lines).toHaveLength(3);
    expect(lines.join()).not.toContain('hunter2');
  });
});

describe('what is wrong', () => {
  test.each<[string, string, RegExp]>([
    ['an unknown section', 'webhook: {}', /^webhook: is not a setting \(did you mean webhooks\?\)/],
    ['an unknown setting', 'slack: { groupwait: 5s }', /^slack\.groupwait: is not a setting \(did you mean groupWait\?\)/],
    ['a missing setting', 'sites: { se: { clientId: a, clientSecret: b } }', /^sites\.se\.baseUrl: is missing; expected an http/],
    [
      'the name of a site',
      'sites: { SE: { baseUrl: https://a, clientId: a, clientSecret: b } }',
      /^sites\.SE: "SE" is not a name/,
    ],
    [
      'a number for text',
      'sites: { se: { baseUrl: https://a, clientId: 12, clientSecret: b } }',
      /^sites\.se\.clientId: 12 is not text \(put it in quotes\)/,
    ],
    ['a state', 'states: { Complete: { final: true } }', /^states\.Complete: "Complete" is not .* \(did you mean Completed\?\)/],
    [
      'a state of a subscriber',
      `subscribers: { a: { url: https://a, secret: ${SIGNING_SECRET}, states: [WaitingForCardPayment] } }`,
      /^subscribers\.a\.states\[0\]: .*did you mean WaitingForCardPayments/,
    ],
    [
      'an event type',
      `subscribers: { a: { url: https://a, secret: ${SIGNING_SECRET}, types: [purchase.stuk] } }`,
      /^subscribers\.a\.types\[0\]: .*did you mean purchase\.stuck/,
    ],
    [
      'a site of a subscriber',
      `subscribers: { a: { url: https://a, secret: ${SIGNING_SECRET}, sites: [defualt] } }`,
      /^subscribers\.a\.sites\[0\]: "defualt" is not a site \(did you mean default\?\); known: default/,
    ],
    ['a field', 'store: { fields: [Price, OrderReferense] }', /^store\.fields\[1\]: .*did you mean OrderReference/],
    ['a duration', 'webhooks: { schedule: [5s, 5min] }', /^webhooks\.schedule\[1\]: "5min" is not a duration/],
    ['a list that is none', 'webhooks: { allowAddresses: 10.0.0.0/8 }', /^webhooks\.allowAddresses: is not a list/],
    ['a section that is none', 'slack: 5s', /^slack: is not a mapping with stuck/],
    ['a cron expression', 'slack: { digest: daily }', /^slack\.digest: "daily" is not a cron expression/],
    ['a schedule without a wait', 'webhooks: { schedule: [] }', /^webhooks\.schedule: is not a list with at least one entry/],
    [
      'first longer than most',
      'states: { New: { poll: { first: 1h } } }',
      /^states\.New\.poll: first \(1h\) is longer than most \(10m, the default\)/,
    ],
    [
      'stuck in a final state',
      'states: { Completed: { stuckAfter: 5m } }',
      /^states\.Completed\.stuckAfter: 5m has no meaning in a final state/,
    ],
    [
      'a learned limit of a final state',
      'states: { Completed: { stuckAfter: auto } }',
      /^states\.Completed\.stuckAfter: auto has no meaning in a final state/,
    ],
    [
      'a limit that is none',
      'states: { New: { stuckAfter: atuo } }',
      /^states\.New\.stuckAfter: "atuo" is not a duration .*, auto or never \(did you mean auto\?\)/,
    ],
    [
      'a session too short to learn a limit within',
      'states: { New: { stuckAfter: auto } }\npolling: { sessionLength: 9m }',
      /^polling\.sessionLength: 9m leaves no room for limits that are learned .* at least 10m$/,
    ],
    ['a recheck of what goes on', 'states: { New: { recheck: [5m] } }', /^states\.New\.recheck: has no meaning/],
    [
      'a state twice',
      'states: { New: { final: true }, 0: { final: true } }',
      /^states\.\w+: is the same state as states\.\w+ \(New\)/,
    ],
    ['a file that is a list', '- a', /: is not a mapping with/],
    ['a tag that other readers of YAML run', 'sites: !!js/function "function () {}"', /^sites: is not a mapping by name$/],
    ['what every object has', '__proto__: { host: a }', /^__proto__: is not a setting/],
  ])('%s', (_, content, line) => {
    expect(problems(content)).toEqual([expect.stringMatching(line)]);
  });

  test('is told of all sections at once', () => {
    const lines = problems(
      'slack: { groupWait: x }\nstates: { New: { poll: { first: 1h } } }\nstore: { fields: [Pric] }\nfoo: 1',
      { PORT: 'x' },
    );
    const places = lines.map((line) => line.split(':')[0]);
    expect(places.sort()).toEqual(['PORT', 'foo', 'slack.groupWait', 'states.New.poll', 'store.fields[0]']);
  });

  test('in YAML is told by line, without quoting the file', () => {
    const lines = problems('sites:\n  se: { clientSecret: hunter2, clientSecret: hunter2 ]\n');
    expect(lines).toEqual([expect.stringMatching(/settings\.yaml: line 2, column \d+: cannot be read as YAML \(\w[\w ]+\)$/)]);
    expect(problems('a: *hunter2').join()).not.toContain('hunter2');
  });

  test('a file that is not there', () => {
    expect(problemsOf(() => loadSettings({ PURCHASE_WATCH_CONFIG: '/nowhere.yaml' }))).toEqual([
      'PURCHASE_WATCH_CONFIG: there is no such file: /nowhere.yaml',
    ]);
  });

  test('a subscriber named as that of the variables', () => {
    const env = { WEBHOOK_URL: 'https://a', WEBHOOK_SECRET: SIGNING_SECRET };
    expect(problems(`subscribers: { default: { url: https://a, secret: ${SIGNING_SECRET} } }`, env)).toEqual([
      expect.stringMatching(/^subscribers\.default: WEBHOOK_URL makes a subscriber of the same name/),
    ]);
  });

  test('start without a site in the file', () => {
    const env = { PURCHASE_WATCH_CONFIG: temporaryFile('sites: {}') };
    expect(problemsOf(() => loadSettings(env, { requireSite: true }))).toEqual([expect.stringMatching(/^sites: is empty/)]);
  });
});

describe('states over the defaults', () => {
  test('keep every field that is not given', () => {
    const { policy } = loadFile('states: { WaitingForCardPayments: { poll: { first: 2s } } }');
    const before = DEFAULT_POLL_POLICY.states.get(6)!;
    expect(policy.states.get(6)).toEqual({ ...before, poll: { ...before.poll, first: 2_000 } });
    expect(policy.states.get(4)).toEqual(DEFAULT_POLL_POLICY.states.get(4));
  });

  test.each(['never', 'null'])('stuckAfter: %s switches the alarm off', (word) => {
    expect(loadFile(`states: { 6: { stuckAfter: ${word} } }`).policy.states.get(6)!.stuckAfter).toBeNull();
  });

  test('stuckAfter: auto holds the default until something is learned, within what a session leaves room for', () => {
    const limits = (content: string) =>
      [0, 4, 6, 17].map((state) => policyOf(loadFile(content).policy, state)).map(({ stuckAfter, auto }) => [stuckAfter, auto]);
    const MINUTE = 60_000;
    expect(limits('states: { New: { stuckAfter: auto }, 4: { stuckAfter: auto }, 6: { stuckAfter: auto } }')).toEqual([
      [15 * MINUTE, true],
      [10 * MINUTE, true],
      [15 * MINUTE, true],
      [null, false],
    ]);
    expect(limits('states: { default: { stuckAfter: auto }, 6: { stuckAfter: auto } }\npolling: { sessionLength: 17m }')).toEqual(
      [
        [null, false],
        [10 * MINUTE, false],
        [12 * MINUTE, true],
        [12 * MINUTE, true],
      ],
    );
  });

  test('a session may be short where no limit is learned', () => {
    expect(loadFile('polling: { sessionLength: 9m }').policy.sessionLength).toBe(540_000);
  });

  test('a state made final is stuck no longer, and one made to go on is not rechecked', () => {
    const { policy } = loadFile('states: { WaitingForCardPayments: { final: true }, Completed: { final: false } }');
    expect(policy.states.get(6)).toMatchObject({ final: true, stuckAfter: null });
    expect(policy.states.get(2)).toMatchObject({ final: false, recheck: [] });
  });

  test('default: serves unknown numbers, and leaves the known states as they are', () => {
    const { policy } = loadFile('states: { default: { stuckAfter: 1h }, 17: { poll: { most: 1h } } }');
    expect(policy.fallback.stuckAfter).toBe(3_600_000);
    expect(policy.states.get(17)).toEqual({ ...policy.fallback, poll: { ...policy.fallback.poll, most: 3_600_000 } });
    expect(policy.states.get(0)).toEqual(DEFAULT_POLL_POLICY.states.get(0));
  });
});
