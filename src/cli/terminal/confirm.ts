/** Asking before what cannot be undone. */
import { createInterface } from 'node:readline/promises';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from './context.ts';

/**
 * Goes on when the person at the terminal says yes; else throws AppError `conflict` with `refused`, and `invalid` with `otherwise`
 * where no person can be asked.
 */
export async function confirm(
  context: CliContext,
  { question, otherwise, refused, json }: { question: string; otherwise: string; refused: string; json: boolean },
): Promise<void> {
  if (!context.isTTY || json) throw new AppError('invalid', otherwise);
  const questions = createInterface({ input: context.stdin, output: context.stdout });
  try {
    const answer = await questions.question(`${question} (yes/no) `);
    if (!/^y(es)?$/i.test(answer.trim())) throw new AppError('conflict', refused);
  } finally {
    questions.close();
  }
}
