import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'

const cli = useCommandLine()

beforeAll(async () => {
  for (const name of ['web', 'wide', 'db']) expect(await cli.run(['create', name])).toMatchObject({ code: 0 })
  expect(await cli.run(['snapshot', 'web', 'good'])).toMatchObject({ code: 0 })
  writeFileSync(join(cli.directory(), 'boxyard'), `#!/bin/sh\nexec ${process.execPath} ${cli.program()} "$@"\n`, {
    mode: 0o755,
  })
})

/** Returns what bash offers where Tab is pressed behind a command line. */
async function offered(...typed: string[]): Promise<string[]> {
  const words = ['boxyard', ...typed].map((word) => `'${word}'`).join(' ')
  const script = `eval "$(boxyard completion bash)"; COMP_WORDS=(${words}); COMP_CWORD=${typed.length}
    _boxyard; printf '%s\\n' "\${COMPREPLY[@]}"`
  const env = {
    PATH: `${cli.directory()}:${process.env['PATH']}`,
    HOME: cli.directory(),
    BOXYARD_URL: cli.service().url,
    BOXYARD_TOKEN: cli.service().adminToken,
    BOXYARD_PROJECT: 'demo',
  }
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { env })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

test('in bash verbs, flags and the names of what is there are completed', async () => {
  expect(await offered('sn')).toEqual(['snapshot', 'snapshots'])
  expect(await offered('volume', 'at')).toEqual(['attach'])
  expect(await offered('create', 'x', '--ra')).toEqual(['--ram-mb'])
  expect(await offered('exec', 'w')).toEqual(['web', 'wide'])
  expect(await offered('rm', 'web', '')).toEqual(['db', 'web', 'wide'])
  expect(await offered('restore', 'web', '')).toEqual(['good'])
  expect(await offered('cp', 'w')).toEqual(['web:', 'wide:'])
  expect(await offered('-p', 'other', 'info', '')).toEqual([])
})

test.each(['bash', 'zsh', 'fish'])('the completion of %s asks the program', async (shell) => {
  expect((await cli.run(['completion', shell])).stdout).toContain('boxyard completion words -- ')
  expect(await cli.run(['completion', 'csh'])).toMatchObject({ code: 2 })
})

test('nothing is offered, and nothing said, where the service is not there', async () => {
  const env = { BOXYARD_URL: 'http://127.0.0.1:1' }
  expect(await cli.run(['completion', 'words', '--', 'info', ''], { env })).toEqual({ code: 0, stdout: '', stderr: '' })
})
