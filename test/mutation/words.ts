/** Tells the instrumenter not to change words for people in tables: another wording is no fault, and no test is to repeat one. */

/** What Babel gives of a node, as far as it is read here. */
interface Path {
  readonly node: {
    readonly type: string;
    readonly value?: unknown;
    readonly quasis?: readonly { readonly value: { readonly raw: string } }[];
  };
  getFunctionParent(): Path | null;
}

function areWords({ node }: Path): boolean {
  if (node.type === 'StringLiteral') return String(node.value).includes(' ');
  return node.type === 'TemplateLiteral' && node.quasis!.some(({ value }) => /[a-z] [a-z]/.test(value.raw));
}

/** As the instrumenter takes it. */
export const WORDS = {
  shouldIgnore: (path: Path): string | undefined =>
    path.getFunctionParent() === null && areWords(path) ? 'words for people' : undefined,
};
