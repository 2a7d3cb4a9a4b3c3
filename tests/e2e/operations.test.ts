import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { agentCommand, ROOT } from '../../infra/commands.ts'
import { commandsIn, type DocumentedCommand, missingFrom } from '../helpers/console-blocks.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { createClient } from '../helpers/front/client.ts'
import { startService, type TestService } from '../helpers/service.ts'

const PAGE = 'docs/operations.md'
const commands = commandsIn(PAGE, readFileSync(join(ROOT, PAGE), 'utf8'))

let service: TestService
let directory: string
const client = createClient(
  () => service.url,
  () => service.adminToken,
)

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'boxyard-operations-'))
  service = await startService({ settings: { BOXYARD_POOL_GB: '0.25', BOXYARD_POOL_STEP_GB: '0.25' } })
  // Creates the command that the package installs as /usr/bin/boxyard, with the settings of this service.
  mkdirSync(join(directory, 'bin'))
  const words = agentCommand([]).map((word) => `'${word}'`)
  writeFileSync(join(directory, 'bin/boxyard'), `#!/bin/sh\nexec ${words.join(' ')} "$@"\n`)
  chmodSync(join(directory, 'bin/boxyard'), 0o755)
  expect((await client.post('/v1/projects/demo/boxes', { name: 'web' })).status).toBe(201)
  await client.post('/v1/projects/demo/boxes/web/exec', { shell: 'echo kept > /root/file; sync' })
})

afterAll(async () => {
  await service.close()
  for (const path of [directory, `${service.dataDir}.empty`]) rmSync(path, { recursive: true, force: true })
})

describe(`the commands in ${PAGE}`, () => {
  test('are some, and those of other languages are run by the suite with a virtual machine', () => {
    expect(commands.length).toBeGreaterThan(15)
    const others = readFileSync(join(ROOT, PAGE), 'utf8').match(/^```sh\n[^]*?^```/gm) ?? []
    expect(others.map((block) => block.split('\n').slice(1, -1))).toEqual([
      [expect.stringMatching(/^boxyard admin backup /), expect.stringMatching(/^apt-get install /), 'boxyard doctor'],
    ])
  })

  test.each(commands)('line $line: $command', async (shown) => {
    const isRead = /^curl/.test(shown.command)
    await (isRead ? untilSucceeds(() => follow(shown)) : follow(shown))
  })

  test('leave a deployment that was moved with all its data', async () => {
    await service.startAgent()
    await untilSucceeds(async () => {
      const { body } = await client.post('/v1/projects/demo/boxes/web/exec', { shell: 'cat /root/file' })
      expect(body.stdout).toBe('kept\n')
    })
    expect(readdirSync(directory).sort()).toEqual(['backups', 'bin', 'support.tar.gz'])
  })
})

async function follow({ command, shown }: DocumentedCommand): Promise<void> {
  const [code, output] = await runCommand(command)
  if (shown.length === 0) expect([code, output]).toEqual([0, output])
  expect({ output, missing: missingFrom(output, shown.map(here)) }).toEqual({ output, missing: [] })
}

/** Runs a command. For `systemctl`, stops or starts the test's own agent instead. */
function runCommand(command: string): Promise<[number | null, string]> {
  if (command === 'systemctl stop boxyard-front boxyard-agent') return settled(service.killAgent('SIGTERM'))
  if (command === 'systemctl start boxyard-agent boxyard-front') return settled(service.startAgent())
  expect(command).not.toContain('systemctl')
  const child = spawn('bash', ['-o', 'pipefail', '-c', here(command)], {
    cwd: directory,
    env: {
      ...service.environment,
      PATH: `${join(directory, 'bin')}${delimiter}${process.env['PATH']}`,
      HOME: directory,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  return new Promise((resolve) => child.once('close', (code) => resolve([code, output])))
}

async function settled(work: Promise<void>): Promise<[number, string]> {
  await work
  return [0, '']
}

/** Replaces the addresses and the directory of a reader's service with this service's. */
function here(text: string): string {
  return text
    .replaceAll('http://127.0.0.1:8080', service.url)
    .replaceAll('http://127.0.0.1:8092/metrics', service.metricsUrl)
    .replaceAll('/var/lib/boxyard', service.dataDir)
}
