/** Reads a page of metrics as Prometheus does, and finds what its linter would. */

export interface ParsedFamily {
  readonly type: string;
  readonly help: string;
  readonly samples: { readonly name: string; readonly labels: Record<string, string>; readonly value: number }[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (NaN|Nan|[+-]Inf|[-+0-9.e]+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;

/** The families of a page, by name. Throws at the first line that is none of the format's. */
export function parseMetrics(text: string): Map<string, ParsedFamily> {
  const families = new Map<string, ParsedFamily>();
  const helps = new Map<string, string>();
  let current: [string, ParsedFamily] | null = null;
  if (!text.endsWith('\n')) throw new Error('the last line has no end');
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word === 'HELP') helps.set(name, rest);
    else if (word === 'TYPE') {
      if (families.has(name)) throw new Error(`${name} comes twice`);
      if (!helps.has(name)) throw new Error(`${name} has no HELP before its TYPE`);
      current = [name, { type: rest, help: helps.get(name)!, samples: [] }];
      families.set(...current);
    } else {
      const [, sample = '', labels = '', value = ''] = SAMPLE.exec(line) ?? [];
      if (sample === '' || current === null) throw new Error(`no line of the format: ${line}`);
      const base = current[1].type === 'histogram' ? sample.replace(/_(bucket|sum|count)$/, '') : sample;
      if (base !== current[0]) throw new Error(`${sample} stands under ${current[0]}`);
      current[1].samples.push({
        name: sample,
        labels: parseLabels(labels, line),
        value: Number(value.replace('Inf', 'Infinity')),
      });
    }
  }
  return families;
}

function parseLabels(text: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  let at = 0;
  while (at < text.length) {
    LABEL.lastIndex = at;
    const found = LABEL.exec(text);
    if (found === null || found[1]! in labels) throw new Error(`labels are wrong: ${line}`);
    labels[found[1]!] = found[2]!;
    at = LABEL.lastIndex;
  }
  return labels;
}

/** What the linter of Prometheus would say of our own families; the library's about the process are as everybody has them. */
export function lint(families: Map<string, ParsedFamily>): string[] {
  const own = [...families].filter(([name]) => name.startsWith('purchase_watch_'));
  return own.flatMap(([name, { type, help, samples }]) => {
    const keys = samples.map((sample) => `${sample.name}${JSON.stringify(Object.entries(sample.labels).sort())}`);
    return [
      ...(help === '' ? [`${name} has no help`] : []),
      ...(/_(milliseconds|ms|minutes|hours|bits|kilobytes)(_|$)/.test(name) ? [`${name} is not in base units`] : []),
      ...((type === 'counter') !== name.endsWith('_total') ? [`${name}: counters end with _total, and nothing else does`] : []),
      ...(type !== 'histogram' && /_(bucket|sum|count)$/.test(name) ? [`${name} has an ending of histograms`] : []),
      ...(new Set(keys).size < keys.length ? [`${name} has a number twice`] : []),
      ...(samples.some(({ value }) => Number.isNaN(value)) ? [`${name} is not a number`] : []),
      ...(type === 'counter' && samples.some(({ value }) => value < 0) ? [`${name} is negative`] : []),
      ...(type === 'histogram' ? lintHistogram(name, samples) : []),
    ];
  });
}

function lintHistogram(name: string, samples: ParsedFamily['samples']): string[] {
  const groups = Map.groupBy(samples, ({ labels: { le: _, ...rest } }) => JSON.stringify(rest));
  return [...groups].flatMap(([labels, group]) => {
    const buckets = group.filter((sample) => sample.name === `${name}_bucket`);
    const limits = buckets.map(({ labels: { le } }) => Number(le!.replace('Inf', 'Infinity')));
    const counts = buckets.map(({ value }) => value);
    const count = group.find((sample) => sample.name === `${name}_count`)?.value;
    const rising = (list: number[]) => list.every((value, index) => index === 0 || value >= list[index - 1]!);
    const good =
      rising(limits) &&
      rising(counts) &&
      limits.at(-1) === Number.POSITIVE_INFINITY &&
      counts.at(-1) === count &&
      group.some((sample) => sample.name === `${name}_sum`);
    return good ? [] : [`${name}${labels} is no histogram`];
  });
}
