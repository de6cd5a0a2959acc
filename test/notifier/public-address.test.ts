import { expect, test } from 'vitest';
import { notPublic, parseRanges, refusedUrl } from '../../src/subscription/address.ts';

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
  const ranges = parseRanges(['10.0.0.0/8', ' 192.168.1.5 ', 'fd00::/8', '::1']);
  expect(ranges.map(([network, length]) => `${network}/${length}`)).toEqual([
    '10.0.0.0/8',
    '192.168.1.5/32',
    'fd00::/8',
    '::1/128',
  ]);
});

test.each(['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0.0/8/8', '10.0.0.0/-1', '127.1/8', '::1/129', ''])(
  '%j is not a range',
  (entry) => {
    expect(() => parseRanges([entry])).toThrow(`"${entry}" is not an address or a CIDR range`);
  },
);

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
