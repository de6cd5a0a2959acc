/** Asking before what cannot be undone. */
import { createInterface } from 'node:readline/promises';
import { AppError } from '../../domain/values/errors.ts';
import type { CliContext } from './context.ts';

/** Whether the person at the terminal says yes; where no person can be asked, throws AppError `invalid` with `otherwise`. */
export async function confirmed(
  context: CliContext,
  { question, otherwise, forPrograms }: { question: string; otherwise: string; forPrograms: boolean },
): Promise<boolean> {
  if (!context.isTTY || forPrograms) throw new AppError('invalid', otherwise);
  const questions = createInterface({ input: context.stdin, output: context.stdout });
  try {
    return /^y(es)?$/i.test((await questions.question(`${question} (yes/no) `)).trim());
  } finally {
    questions.close();
  }
}
