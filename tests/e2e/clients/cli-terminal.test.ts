import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useOwnService())
/** No login, and no setting that names the service. */
const NOBODY = { BOXYARD_URL: '', BOXYARD_TOKEN: '', BOXYARD_PROJECT: '' }
/** Prompt of a shell in a box, which may ask the terminal for its cursor position. */
const PROMPT = /# (\x1b\[6n)?$/

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

describe('in a terminal', () => {
  test('login asks for the URL and the token, does not show it, and keeps both', async () => {
    const home = join(cli.directory(), 'asked')
    const env = { ...NOBODY, HOME: home }
    const asking = cli.startInTerminal(['login', '--name', 'asked'], { env })
    await asking.until(/URL of the service/)
    asking.type(`${cli.service().url}\r`)
    await asking.until(/Token/)
    asking.type(`${cli.service().adminToken}\r`)
    await asking.until(/Logged in to http/)
    expect((await asking.ended).code).toBe(0)
    expect(asking.shown()).not.toContain(cli.service().adminToken)
    const kept = readFileSync(join(home, '.config/boxyard/config.toml'), 'utf8')
    expect(kept).toContain(cli.service().adminToken)
    expect((await cli.run(['me', '-o', 'name'], { env })).code).toBe(0)
  })

  test('login that is given up changes nothing', async () => {
    const env = { ...NOBODY, HOME: join(cli.directory(), 'given-up') }
    const asking = cli.startInTerminal(['login', cli.service().url], { env })
    await asking.until(/Token/)
    asking.type('\x03')
    expect((await asking.ended).code).toBe(2)
    expect(asking.shown()).toContain('Nothing changed.')
  })

  test('exec -it is a terminal of the same kind in the box, and takes its exit code', async () => {
    const shell = cli.startInTerminal([
      'exec',
      '-it',
      'web',
      'sh',
      '-c',
      'test -t 0 && echo is-a-$((1+1)); read x; exit $x',
    ])
    await shell.until(/is-a-2/)
    shell.type('7\r')
    expect((await shell.ended).code).toBe(7)
  })

  test('a console is attached again after the agent was killed', async () => {
    const console = cli.startInTerminal(['console', 'web', '--session', 'kept'])
    await console.until(PROMPT)
    console.type('n=40; echo before-$((n+1))\r')
    await console.until(/before-41/)
    await cli.service().killAgent()
    await cli.service().startAgent()
    await console.until(/reconnecting/)
    console.type('echo after-$((n+2))\r')
    await console.until(/after-42/)
    console.type('exit 3\r')
    expect((await console.ended).code).toBe(3)
  })

  test('a console is left by Ctrl-], and goes on', async () => {
    const console = cli.startInTerminal(['console', 'web', '--session', 'left'])
    await console.until(PROMPT)
    console.type('echo here-$((1+1))\r')
    await console.until(/here-2/)
    console.type('\x1d')
    expect((await console.ended).code).toBe(0)
    expect((await cli.run(['sessions', 'ls', 'web', '-o', 'name'])).stdout).toContain('left')
  })

  test('top is drawn again and again, until Ctrl-C', async () => {
    const top = cli.startInTerminal(['top', '--every', '0.2'])
    await top.until(/NAME[\s\S]*web[\s\S]*NAME[\s\S]*web/)
    top.type('\x03')
    expect((await top.ended).code).toBe(130)
  })

  test('a copy tells of its bytes', async () => {
    await cli.run(['exec', 'web', 'truncate', '-s', '400M', '/root/large'])
    const copying = cli.startInTerminal(['cp', 'web:/root/large', 'large'])
    await copying.until(/large: .*B of 400 MiB, .*B\/s/)
    expect((await copying.ended).code).toBe(0)
  })
})

test('who interrupts a wait is told that it goes on', async () => {
  const { agentPid } = cli.service()
  process.kill(agentPid, 'SIGSTOP')
  try {
    const waiting = cli.startInTerminal(['create', 'slow', '--port', '3000', '--auth', 'public', '--cpus', '1'])
    await waiting.until(/Creating slow/)
    waiting.type('\x03')
    expect((await waiting.ended).code).toBe(130)
    expect(waiting.shown()).toContain('the service still creates slow. Run boxyard wait slow')
  } finally {
    process.kill(agentPid, 'SIGCONT')
  }
  expect((await cli.run(['wait', 'slow'])).code).toBe(0)
  const { body } = await cli.client.get('/v1/projects/demo/boxes/slow')
  expect(body).toMatchObject({ port: 3000, url_settings: { auth: 'public' }, config: { cpus: 1 } })
})

describe('data that cannot be restored', () => {
  beforeAll(async () => {
    for (const line of ['volume create db', 'volume snapshot create db a', 'snapshot create web good'])
      expect(await cli.run(line.split(' '))).toMatchObject({ code: 0 })
    expect(await cli.run(['base', 'create', 'tools', '--box', 'web'])).toMatchObject({ code: 0 })
  })

  test.each([
    ['snapshot rm web good', 'Delete snapshot good of web?'],
    ['volume snapshot rm db a', 'Delete snapshot a of db?'],
    ['volume delete db', 'Delete volume db?'],
    ['base rm tools', 'Delete base tools?'],
  ])('%s asks on a terminal, and not with -y', async (line, question) => {
    const removing = cli.startInTerminal(line.split(' '))
    await removing.until(/\[y\/N\] /)
    removing.type('n\r')
    expect((await removing.ended).code).toBe(1)
    const shown = stripVTControlCharacters(removing.shown()).replaceAll('\r', '')
    expect(shown).toBe(`${question} It cannot be restored. [y/N] n\nCanceled. Nothing was deleted.\n`)
    const sure = cli.startInTerminal([...line.split(' '), '-y'])
    expect([(await sure.ended).code, sure.shown()]).toEqual([0, ''])
    const gone = cli.startInTerminal(line.split(' '))
    expect([(await gone.ended).code, gone.shown()]).toEqual([1, expect.stringMatching(/^boxyard: (?!.*y\/N)/)])
  })

  test('is deleted without a question in a script', async () => {
    await cli.run(['volume', 'create', 'db'])
    expect(await cli.run(['volume', 'rm', 'db'])).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})
