import { UsageError } from '../output/failures.ts'

/** Its entry in the reference. It has no operation and needs no service. */
export const COMPLETION = {
  words: 'completion',
  args: '<shell>',
  flags: [],
  summary: 'Print the completion script for a shell',
  details:
    'For bash, zsh or fish. The shell evaluates the script when it starts. It completes commands, flags, and names in the project.',
  examples: [
    `echo 'eval "$(boxyard completion bash)"' >> ~/.bashrc`,
    `echo 'eval "$(boxyard completion zsh)"' >> ~/.zshrc`,
    'boxyard completion fish > ~/.config/fish/completions/boxyard.fish',
  ],
  operations: [],
} as const

/** Returns the completion script of a shell, which asks this program for the candidates. @throws UsageError for another shell */
export function completionScript(shell: string): string {
  const script = Object.hasOwn(SCRIPTS, shell) ? SCRIPTS[shell] : undefined
  if (script === undefined) throw new UsageError('<shell>: must be bash, zsh or fish.')
  return script
}

const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `_boxyard() {
  local IFS=$'\\n'
  COMPREPLY=($(boxyard completion words -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  # A path follows.
  if [[ \${COMPREPLY[0]} == *: ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _boxyard boxyard
`,
  zsh: `#compdef boxyard
_boxyard() {
  local -a found
  found=(\${(f)"$(boxyard completion words -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found == 0 )); then _files
  elif [[ $found[1] == *: ]]; then compadd -S '' -- $found
  else compadd -- $found
  fi
}
if [[ $funcstack[1] == _boxyard ]]; then _boxyard "$@"
else
  (( $+functions[compdef] )) || { autoload -U compinit && compinit }
  compdef _boxyard boxyard
fi
`,
  fish: `function __boxyard_words
  set -l before (commandline -opc)
  boxyard completion words -- $before[2..-1] (commandline -ct) 2>/dev/null
end
complete -c boxyard -f -a '(__boxyard_words)'
complete -c boxyard -n '__fish_seen_subcommand_from cp sync login base' -F
`,
}
