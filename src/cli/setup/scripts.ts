/** The scripts: each walks the typed words to a place, and offers what may follow there. They start no process. */
import type { CommandWords, Flag, Word } from './words.ts';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

/** Of sh and its like. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;
const texts = (words: readonly Word[]): string => words.map(({ text }) => text).join(' ');
const longOnes = (flags: readonly Flag[]): Flag[] => flags.filter(({ text }) => text.startsWith('--'));
const naming = ({ paths }: CommandWords): string => paths[0]!;
const HEAD = '# Made by "purchase-watch completion"; make it again after an upgrade.';

/** Lines of a `case` of bash and zsh that go from a place and a word to the place below it. */
function steps(places: readonly CommandWords[]): string {
  return places
    .filter((place) => naming(place) !== '')
    .map((place) => {
      const above = naming(place).split(' ').slice(0, -1).join(' ');
      const names = new Set(place.paths.map((path) => path.split(' ').at(-1)!));
      return `      ${[...names].map((name) => quoted(`${above}:${name}`)).join('|')}) place=${quoted(naming(place))} ;;`;
    })
    .join('\n');
}

/** Lines of a `case` that offer the value of an option. */
function values(places: readonly CommandWords[], offer: (value: Exclude<Flag['value'], null>) => string): string {
  return places
    .flatMap((place) =>
      place.flags.flatMap(({ text, value }) =>
        value === null ? [] : [`    ${quoted(`${naming(place)}:${text}`)}) ${offer(value)} ;;`],
      ),
    )
    .join('\n');
}

function bash(places: readonly CommandWords[]): string {
  const offers = places.map(
    (place) =>
      `    ${quoted(naming(place))}) words=${quoted(texts(place.words))} flags=${quoted(texts(longOnes(place.flags)))} ;;`,
  );
  return `${HEAD}
_purchase_watch() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD - 1]}" place='' words='' flags='' i
  # bash takes "--status=sent" for three words.
  if [[ $current == '=' ]]; then current=''
  elif [[ $before == '=' ]]; then before="\${COMP_WORDS[COMP_CWORD - 2]}"
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$place:\${COMP_WORDS[i]}" in
${steps(places)}
    esac
  done
  COMPREPLY=()
  case "$place:$before" in
${values(places, (value) => {
  if (value === 'any') return 'return';
  return value === 'file'
    ? 'compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$current")); return'
    : `COMPREPLY=($(compgen -W ${quoted(value.join(' '))} -- "$current")); return`;
})}
  esac
  case "$place" in
${offers.join('\n')}
  esac
  if [[ $current == -* || -z $words ]]; then words=$flags; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _purchase_watch purchase-watch
`;
}

function zsh(places: readonly CommandWords[]): string {
  const described = (words: readonly Word[]) =>
    words.map(({ text, means }) => quoted(means === '' ? text : `${text}:${means}`)).join(' ');
  const offers = places.map(
    (place) =>
      `    ${quoted(naming(place))})\n      known=(${described(place.words)})\n      flags=(${described(longOnes(place.flags))}) ;;`,
  );
  return `#compdef purchase-watch
${HEAD}
_purchase-watch() {
  local place='' i
  local -a known flags
  for ((i = 2; i < CURRENT; i++)); do
    case "$place:\${words[i]}" in
${steps(places)}
    esac
  done
  case "$place:\${words[CURRENT - 1]}" in
${values(places, (value) => {
  if (value === 'any') return 'return 1';
  return value === 'file' ? '_files; return' : `compadd -- ${value.map(quoted).join(' ')}; return`;
})}
  esac
  case "$place" in
${offers.join('\n')}
  esac
  if [[ \${words[CURRENT]} == -* ]]; then _describe -o option flags
  else _describe command known
  fi
}
if [[ $funcstack[1] == _purchase-watch ]]; then _purchase-watch "$@"
else compdef _purchase-watch purchase-watch
fi
`;
}

function fish(places: readonly CommandWords[]): string {
  const quote = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
  const line = (place: CommandWords, rest: string, { means }: Pick<Word, 'means'>): string =>
    `complete -c purchase-watch -n ${quote(`__purchase_watch_at "${naming(place)}"`)} ${rest}${means === '' ? '' : ` -d ${quote(means)}`}`;
  const takes = ({ value }: Flag): string => {
    if (value === null) return '';
    if (value === 'file') return ' -r -F';
    return value === 'any' ? ' -x' : ` -x -a ${quote(value.join(' '))}`;
  };
  const lines = places.flatMap((place) => [
    ...place.words.map((word) => line(place, `-a ${quote(word.text)}`, word)),
    ...longOnes(place.flags).map((flag) => line(place, `-l ${flag.text.slice(2)}${takes(flag)}`, flag)),
  ]);
  return `${HEAD}
function __purchase_watch_at
  set -l place ''
  for word in (commandline -opc)[2..-1]
    switch "$place:$word"
${steps(places).replaceAll(
  /^ +(.*)\) place=(.*) ;;$/gm,
  (_, names: string, place: string) => `      case ${names.replaceAll('|', ' ')}\n        set place ${place}`,
)}
    end
  end
  test "$place" = "$argv[1]"
end
complete -c purchase-watch -f
${lines.join('\n')}
`;
}

const SCRIPTS = { bash, zsh, fish };

export function scriptFor(shell: Shell, places: readonly CommandWords[]): string {
  return SCRIPTS[shell](places);
}
