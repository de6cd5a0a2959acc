import { expect, test } from 'vitest';
import { judgeAddress, notPublic, permission, refusedUrl } from '../../../src/channels/http/address.ts';
import { writeAddressRange } from '../../../src/config/kinds/address-range.ts';

test.each([
  ['1.1.1.1'],
  ['100.63.255.255'],
  ['100.128.0.1'],
  ['172.15.0.1'],
  ['172.32.0.1'],
  ['192.169.0.1'],
  ['223.255.255.254'],
  ['168.63.129.17'],
  ['2606:4700:4700::1111'],
  ['2606:4700::5efe'],
  ['2a00:1450:4001:830::200e'],
  ['::ffff:1.1.1.1'],
  ['64:ff9b::1.1.1.1'],
])('%s is public', (address) => {
  expect(notPublic(address)).toBeNull();
});

test.each([
  ['0.0.0.0', 'unspecified'],
  ['0.1.2.3', 'unspecified'],
  ['10.1.2.3', 'private'],
  ['172.16.0.1', 'private'],
  ['172.31.255.255', 'private'],
  ['192.168.1.1', 'private'],
  ['100.64.0.1', 'carrier grade nat'],
  ['168.63.129.16', "azure's host agent"],
  ['::ffff:168.63.129.16', "azure's host agent"],
  ['64:ff9b::168.63.129.16', "azure's host agent"],
  ['2606:4700::5efe:10.0.0.1', 'isatap'],
  ['2606:4700::200:5efe:8.8.8.8', 'isatap'],
  ['127.0.0.1', 'loopback'],
  ['127.255.255.254', 'loopback'],
  ['169.254.169.254', 'link local'],
  ['192.0.0.8', 'reserved'],
  ['192.0.2.1', 'reserved'],
  ['198.18.0.1', 'reserved'],
  ['198.51.100.7', 'reserved'],
  ['203.0.113.7', 'reserved'],
  ['224.0.0.1', 'multicast'],
  ['240.0.0.1', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::127.0.0.1', 'reserved'],
  ['::ffff:10.0.0.1', 'private'],
  ['::ffff:169.254.169.254', 'link local'],
  ['::ffff:0:127.0.0.1', 'rfc6145'],
  ['64:ff9b::127.0.0.1', 'loopback'],
  ['64:ff9b::169.254.169.254', 'link local'],
  ['64:ff9b:1::1.1.1.1', 'rfc6052'],
  ['100::1', 'discard'],
  ['2001::1', 'teredo'],
  ['2001:db8::1', 'reserved'],
  ['2002:7f00:1::', '6to4'],
  ['2002:101:101::1', '6to4'],
  ['3fff::1', 'reserved'],
  ['4000::1', 'reserved'],
  ['5f00::1', 'segment routing'],
  ['fc00::1', 'unique local'],
  ['fd00:ec2::254', 'unique local'],
  ['fe80::1', 'link local'],
  ['fe80::1%eth0', 'link local'],
  ['fec0::1', 'deprecated site local'],
  ['ff02::1', 'multicast'],
])('%s is not public: %s', (address, kind) => {
  expect(notPublic(address)).toBe(kind);
});

test('a list of ranges may hold single addresses', () => {
  const { ranges } = permission([
    '10.0.0.0/8',
    ' 192.168.1.5 ',
    'fd00::/8',
    '::1',
    '10.1.2.3:8443',
    '10.0.0.0/8:9',
    '[fd00::5]:80',
    '[fd00::/8]',
  ]);
  expect(ranges.map(writeAddressRange)).toEqual([
    '10.0.0.0/8',
    '192.168.1.5/32',
    'fd00::/8',
    '::1/128',
    '10.1.2.3/32:8443',
    '10.0.0.0/8:9',
    '[fd00::5/128]:80',
    'fd00::/8',
  ]);
});

test.each([
  ...[
    'localhost',
    '10.0.0.0/33',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0.0/-1',
    '127.1/8',
    '::1/129',
    '',
    '010.0.0.0',
    'fe80::1%eth0',
  ],
  ...[
    '10.0.0.1:',
    '10.0.0.1:0',
    '10.0.0.1:65536',
    '[10.0.0.1]:80',
    '[fd00::5',
    'fd00::5]:80',
    '10.0.0.1:80:81',
    '[fd00::5]:80/8',
  ],
])('%j is not a range', (entry) => {
  expect(() => permission([entry])).toThrow(`"${entry}" is not an address or a CIDR range`);
});

test.each<[string, readonly string[], string | null]>([
  ['https://127.0.0.1:9/hook', [], 'WEBHOOK_ALLOW_ADDRESSES=127.0.0.0/8'],
  ['https://localhost/hook', [], 'WEBHOOK_ALLOW_ADDRESSES=127.0.0.0/8'],
  ['http://localhost/hook', ['::1'], null],
  ['https://[::1]/hook', [], 'WEBHOOK_ALLOW_ADDRESSES=::1'],
  ['http://10.1.2.3/hook', ['192.168.0.0/16'], 'WEBHOOK_ALLOW_ADDRESSES=192.168.0.0/16,10.1.2.3'],
  ['http://10.1.2.3/hook', ['10.0.0.0/8'], null],
  ['http://1.1.1.1/hook', [], 'WEBHOOK_ALLOW_ADDRESSES=1.1.1.1'],
  ['https://1.1.1.1/hook', [], null],
  ['https://shop.example/hook', [], null],
])('%s with %j allowed needs %s', (url, allowed, allowing) => {
  expect(refusedUrl(url, allowed)?.allowing ?? null).toBe(allowing);
});

test.each<[string, string, readonly string[], RegExp | null]>([
  ['10.1.2.3', 'https://a:8443', ['10.1.2.3:8443'], null],
  ['10.1.2.3', 'http://a:8443', ['10.0.0.0/8:8443'], null],
  ['10.1.2.3', 'http://a', ['10.0.0.0/8:80'], null],
  ['::ffff:10.1.2.3', 'https://a:8443', ['10.1.2.3:8443'], null],
  ['fd00::5', 'https://a:8443', ['[fd00::5]:8443'], null],
  [
    '10.1.2.3',
    'https://a:5432',
    ['10.1.2.3:8443', '10.0.0.0/8:9'],
    /^10\.1\.2\.3 may be called at port 8443 or 9, and not at 5432\. If it is meant, allow it with WEBHOOK_ALLOW/,
  ],
  ['fd00::5', 'https://a', ['[fd00::5]:8443'], /^fd00::5 may be called at port 8443, and not at 443/],
  // A list permits, and forbids nothing that is public.
  ['1.1.1.1', 'https://a', ['1.1.1.1:8443'], null],
  ['1.1.1.1', 'http://a', ['1.1.1.1:8443'], /^1\.1\.1\.1 may be called at port 8443, and not at 80/],
])('%s dialled for %s with %j allowed: %s', (address, url, list, problem) => {
  const { protocol, port } = new URL(url);
  const judged = judgeAddress(address, { protocol, port: Number(port || (protocol === 'https:' ? 443 : 80)) }, permission(list));
  if (problem === null) expect(judged).toBeNull();
  else expect(judged).toMatch(problem);
});

test('what somebody adds by the API is permitted by a setting of its own', () => {
  expect(refusedUrl('https://10.1.2.3/hook', ['10.9.9.9'], 'api')).toEqual({
    problem:
      '10.1.2.3 is not a public address (private). If it is meant, allow it with WEBHOOK_API_ALLOW_ADDRESSES or webhooks.apiAllowAddresses.',
    allowing: 'WEBHOOK_API_ALLOW_ADDRESSES=10.9.9.9,10.1.2.3',
  });
});
