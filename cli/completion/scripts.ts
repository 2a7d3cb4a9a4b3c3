import { UsageError } from './failures.ts'

/** How its verb is told of in the reference, which has no operation and needs no service. */
export const COMPLETION = {
  words: 'completion',
  args: '<shell>',
  flags: [],
  summary: 'Print the completion of a shell',
  details: 'For bash, zsh or fish; the shell evaluates it when it starts.',
  examples: [
    `echo 'eval "$(boxyard completion bash)"' >> ~/.bashrc`,
    'boxyard completion fish > ~/.config/fish/completions/boxyard.fish',
  ],
  operations: [],
} as const

/** Returns the completion of a shell for the words of all verbs. @throws UsageError for another shell */
export function completionScript(shell: string, verbs: readonly string[]): string {
  const words = [...verbs, 'completion'].map((verb) => verb.split(' '))
  const firsts = [...new Set(words.map(([first = '']) => first))].sort()
  const groups = firsts.map((first): [string, string[]] => {
    return [first, words.flatMap(([head, second]) => (head === first && second !== undefined ? [second] : [])).sort()]
  })
  const nested = groups.filter(([, seconds]) => seconds.length > 0)
  if (shell === 'bash') return bashScript(firsts, nested)
  if (shell === 'zsh')
    return `#compdef boxyard\nautoload -U +X bashcompinit && bashcompinit\n${bashScript(firsts, nested)}`
  if (shell === 'fish') return fishScript(firsts, nested)
  throw new UsageError('Completion is for bash, zsh and fish.')
}

function bashScript(firsts: readonly string[], nested: readonly [string, string[]][]): string {
  const cases = nested.map(([first, seconds]) => `    ${first}) words='${seconds.join(' ')}' ;;`).join('\n')
  return `_boxyard() {
  local words=''
  if [[ $COMP_CWORD == 1 ]]; then words='${firsts.join(' ')}'
  elif [[ $COMP_CWORD == 2 ]]; then
    case \${COMP_WORDS[1]} in
${cases}
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _boxyard boxyard
`
}

function fishScript(firsts: readonly string[], nested: readonly [string, string[]][]): string {
  const lines = nested.map(
    ([first, seconds]) => `complete -c boxyard -n '__fish_seen_subcommand_from ${first}' -a '${seconds.join(' ')}'`,
  )
  return `complete -c boxyard -f -n __fish_use_subcommand -a '${firsts.join(' ')}'\n${lines.join('\n')}\n`
}
