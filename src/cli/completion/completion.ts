/** `completion`: a script with which a shell completes commands, options and what options may be. */
import { Argument, type Command } from 'commander';
import { examples } from '../terminal/arguments.ts';
import type { CliContext } from '../terminal/context.ts';
import { SHELLS, type Shell, scriptFor } from './scripts.ts';
import { placesOf } from './words.ts';

const INSTALL = `
To install it:
  bash  purchase-watch completion bash > ~/.local/share/bash-completion/completions/purchase-watch
        (with the package bash-completion; without it, add to ~/.bashrc: source <(purchase-watch completion bash))
  zsh   purchase-watch completion zsh > "\${fpath[1]}/_purchase-watch"
        (~/.zshrc must call compinit: autoload -U compinit && compinit)
  fish  purchase-watch completion fish > ~/.config/fish/completions/purchase-watch.fish
Then open a new shell. It completes the command purchase-watch; "npx purchase-watch" is completed by what npx brings.`;

/** Declares the command. The program has all commands declared when it runs. */
export function register(command: Command, context: CliContext): void {
  command
    .description(
      'Writes a script with which a shell completes commands, options, and what options may be. The script starts no process.',
    )
    .addArgument(new Argument('<shell>', 'for which shell').choices(SHELLS))
    .action((shell: Shell) => void context.stdout.write(scriptFor(shell, placesOf(command.parent!))))
    .addHelpText('after', INSTALL);
  examples(command, [
    ['completion bash > ~/.local/share/bash-completion/completions/purchase-watch', 'for every new bash'],
    ['completion fish | source', 'for this fish'],
  ]);
}
