import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { barChart, lineChart } from '../../tools/figures/charts.ts';
import { madeFromFigures } from '../../tools/figures.ts';

const ROOT = join(import.meta.dirname, '../..');

test('tables and charts of the docs are what the benches wrote', () => {
  const made = madeFromFigures();
  expect(made.size).toBeGreaterThan(0);
  for (const [file, text] of made) {
    expect(readFileSync(join(ROOT, file), 'utf8'), `${file}: make it again with npm run figures`).toBe(text);
  }
});

test('bars are as long as their values, with the sum of their parts at the end', () => {
  const bars = [
    { name: 'daemon', parts: [30, 20], isOwn: true },
    { name: 'a <peer>', parts: [100, 0] },
  ];
  const chart = barChart({ title: 'Processor time', unit: 'µs', legend: ['process', 'Postgres'], bars });
  const widths = [...chart.matchAll(/<rect class="[op]\d" x="[\d.]+" y="\d{2,}" width="([\d.]+)"/g)].map(([, width]) =>
    Number(width),
  );
  expect(widths).toEqual([144, 96, 480, 0]);
  expect(chart).toContain('>50</text>');
  expect(chart).toContain('a &lt;peer>');
});

test('lines begin at zero and end at the greatest time', () => {
  const points = [
    { x: 0, y: 0 },
    { x: 60, y: 210 },
  ];
  const chart = lineChart({ title: 'Memory', unit: 'MB', along: 'minutes', lines: [{ name: 'daemon', points }] });
  expect(chart).toContain('d="M60 260L700 75.2"');
  expect(chart).toContain('>250</text>');
});
