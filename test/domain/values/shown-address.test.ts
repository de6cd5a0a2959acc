import { expect, test } from 'vitest';
import { isShortened, shownAddress } from '../../../src/domain/values/shown-address.ts';

test.each([
  ['https://shop.example', 'https://shop.example'],
  ['https://shop.example/', 'https://shop.example'],
  ['https://shop.example/hooks/secret', 'https://shop.example/…'],
  ['https://shop.example?token=secret', 'https://shop.example/…'],
  ['https://shop.example#secret', 'https://shop.example/…'],
  ['https://user:secret@shop.example:8443/a', 'https://shop.example:8443/…'],
  ['nats://user:secret@a,b:4222', 'nats://a,b:4222'],
  // A password that holds a slash.
  ['postgres://user:sec/ret@db.example/name', 'postgres://…'],
  ['git+https://user:sec/ret@shop.example', 'git+https://…'],
  ['https://shop.example/@secret', 'https://shop.example/…'],
  ['http://shop.example/@secret', 'http://shop.example/…'],
  ['postgres://user:secret@db.example/na@me', 'postgres://db.example/…'],
  ['nats://a:4222/secret', 'nats://a:4222/…'],
  ['secret https://shop.example', '…'],
  ['secret', '…'],
  ['', '…'],
])('%s is shown as %s', (address, shown) => {
  expect(shownAddress(address)).toBe(shown);
  expect(shown).not.toContain('secret');
});

test('an address that was shown is known again, also once it was sent through a form', () => {
  expect(['https://a.example/…', 'https://a.example/%E2%80%A6', 'https://a.example/x'].map(isShortened)).toEqual([
    true,
    true,
    false,
  ]);
});
