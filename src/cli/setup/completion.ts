/** `completion`: a script with which a shell completes commands, options and what options may be. */
import { declare, type Register } from '../terminal/command.ts';
import { SHELLS, scriptFor } from './scripts.ts';
import { placesOf } from './words.ts';

const INSTALL = `
To install it:
  bash  purchase-watch completion bash > ~/.local/share/bash-completion/completions/purchase-watch
        (with the package bash-completion; without it, add to ~/.bashrc: source <(purchase-watch completion bash))
  zsh   purchase-watch completion zsh > "\${fpath[1]}/_purchase-watch"
        (~/.zshrc must call compinit: autoload -U compinit && compinit)
  fish  purchase-watch completion fish > ~/.config/fish/completions/purchase-watch.fish
Then open a new shell. It completes the command purchase-watch; "npx purchase-watch" is completed by what npx brings.`;

/** The program has all commands declared when it runs. */
export const register: Register = (command, context) =>
  declare(
    {
      description:
        'Writes a script with which a shell completes commands, options, and what options may be. The script starts no process.',
      arguments: [['<shell>', 'for which shell', { choices: SHELLS }]],
      after: INSTALL,
      examples: [
        ['completion bash > ~/.local/share/bash-completion/completions/purchase-watch', 'for every new bash'],
        ['completion fish | source', 'for this fish'],
      ],
    },
    ({ stdout }, { shell }) => void stdout.write(scriptFor(shell, placesOf(command.parent!))),
  )(command, context);
