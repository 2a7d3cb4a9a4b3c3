import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())

beforeAll(async () => {
  for (const name of ['web', 'wide', 'db']) expect(await cli.run(['create', name])).toMatchObject({ code: 0 })
  expect(await cli.run(['snapshot', 'web', 'good'])).toMatchObject({ code: 0 })
  writeFileSync(join(cli.directory(), 'boxyard'), `#!/bin/sh\nexec ${process.execPath} ${cli.program()} "$@"\n`, {
    mode: 0o755,
  })
})

/** Prints what each shell offers when the user presses Tab after these words. */
const SHELLS = {
  bash: (words) => `eval "$(boxyard completion bash)"; COMP_WORDS=(${quoted(words)}); COMP_CWORD=${words.length - 1}
    "$(complete -p boxyard | sed 's/.* -F //; s/ .*//')"; printf '%s\n' "\${COMPREPLY[@]}"`,
  // The builtins that offer words exist only during interactive completion.
  zsh: (words) => `autoload -U compinit; compinit -D; eval "$(boxyard completion zsh)"
    compadd() { shift \${@[(i)--]}; print -l -- "$@" }; _files() { }
    words=(${quoted(words)}); CURRENT=${words.length}; $_comps[boxyard]`,
  fish: (words) => `boxyard completion fish | source; complete -C "${words.join(' ')}"`,
} satisfies Record<string, (words: readonly string[]) => string>
type Shell = keyof typeof SHELLS

function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word}'`).join(' ')
}

function shellEnv(): NodeJS.ProcessEnv {
  return {
    PATH: `${cli.directory()}:${process.env['PATH']}`,
    HOME: cli.directory(),
    BOXYARD_URL: cli.service().url,
    BOXYARD_TOKEN: cli.service().adminToken,
    BOXYARD_PROJECT: 'demo',
  }
}

async function offered(shell: Shell, ...typed: string[]): Promise<string[]> {
  const options = { zsh: ['-f'], bash: [], fish: ['--no-config'] }[shell]
  const script = SHELLS[shell](['boxyard', ...typed])
  const { stdout, stderr } = await promisify(execFile)(shell, [...options, '-c', script], { env: shellEnv() })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

test.each(['bash', 'zsh', 'fish'] as const)(
  'in %s verbs, flags and the names of what is there are completed',
  async (shell) => {
    expect(await offered(shell, 'sn')).toEqual(['snapshot'])
    expect(await offered(shell, 'volume', 'at')).toEqual(['attach'])
    expect(await offered(shell, 'create', 'x', '--ra')).toEqual(['--ram-mb'])
    expect(await offered(shell, 'exec', 'w')).toEqual(['web', 'wide'])
    expect(await offered(shell, 'rm', 'web', '')).toEqual(['db', 'web', 'wide'])
    expect(await offered(shell, 'restore', 'web', '')).toEqual(['good'])
    expect(await offered(shell, '-p', 'other', 'info', '')).toEqual([])
  },
)

test.each(['bash', 'zsh'] as const)('in %s a path follows the name of a box', async (shell) => {
  expect(await offered(shell, 'cp', 'w')).toEqual(['web:', 'wide:'])
})

test('in fish files of this machine are offered beside boxes where a path may be either', async () => {
  writeFileSync(join(cli.directory(), 'wages.csv'), '')
  const { stdout } = await promisify(execFile)(
    'fish',
    ['--no-config', '-c', 'boxyard completion fish | source; complete -C "boxyard cp w"'],
    { cwd: cli.directory(), env: shellEnv() },
  )
  expect(stdout.split('\n')).toEqual(expect.arrayContaining(['wages.csv', 'web:', 'wide:']))
})

test('there is none for other shells', async () => {
  expect(await cli.run(['completion', 'csh'])).toMatchObject({ code: 2 })
})

test('nothing is offered, and nothing said, where the service is not there', async () => {
  const env = { BOXYARD_URL: 'http://127.0.0.1:1' }
  expect(await cli.run(['completion', 'words', '--', 'info', ''], { env })).toEqual({ code: 0, stdout: '', stderr: '' })
})
