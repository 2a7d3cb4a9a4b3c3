import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { connectClient, installPackage, untilServing } from '../helpers/vm/boxyard.ts'
import { keepInstalled, startBooted } from '../helpers/vm/installed.ts'
import type { Machine } from '../helpers/vm/machine.ts'
import { packWorkTree } from '../helpers/vm/release.ts'
import { keepLogs, TEST_LIMIT_MS } from '../helpers/vm/use-installed.ts'

jest.setTimeout(TEST_LIMIT_MS)
let machine: Machine
let deb: string

beforeAll(async () => {
  deb = await packWorkTree()
  machine = await startBooted()
})

afterAll(async () => {
  await keepLogs(machine)
  await machine?.close()
})

test('apt installs the package on a bare Debian, and the first box runs a command', async () => {
  const startedAt = performance.now()
  const seconds = (): string => ((performance.now() - startedAt) / 1000).toFixed(0)
  await installPackage(machine, deb)
  const installed = seconds()
  await untilServing(machine)
  const served = seconds()
  const client = await connectClient(machine)
  expect((await client.post('/v1/projects/demo/boxes', { name: 'web' })).status).toBe(201)
  const { body } = await client.shell('demo', 'web', 'echo hello from $(hostname)')
  expect(body).toMatchObject({ status: 'exited', exit_code: 0, stdout: 'hello from web\n' })
  process.stderr.write(
    `seconds after apt began: installed ${installed}, serving ${served}, first command ${seconds()}\n`,
  )
  expect((await client.delete('/v1/projects/demo/boxes/web')).status).toBe(204)
})

test('the units are enabled, run, and have kept their compiled code', async () => {
  const status = await machine.run('systemctl show --property=ActiveState,SubState,Result,NRestarts boxyard-agent')
  expect(status).toBe('Result=success\nNRestarts=0\nActiveState=active\nSubState=running')
  expect(await machine.run('systemctl is-enabled boxyard-agent boxyard-front')).toBe('enabled\nenabled')
  expect(await machine.run('systemctl --failed --no-legend')).toBe('')
  // With this cache, starts after a power cut take less than half of the time.
  for (const directory of ['boxyard', 'boxyard-front'])
    expect([directory, await machine.run(`find /var/cache/${directory} -type f -size +100k | wc -l`)]).toEqual([
      directory,
      expect.stringMatching(/^[1-9]/),
    ])
})

test('the command line is there, and works for root without a login', async () => {
  const boxyard = (line: string): Promise<string> => machine.run(`boxyard --project demo ${line}`)
  expect(JSON.parse(await boxyard('create tool -o json'))).toMatchObject({ name: 'tool', status: 'running' })
  expect(await boxyard('exec tool echo hello')).toBe('hello')
  expect(await machine.run('cd / && su -s /bin/sh nobody -c "boxyard --project demo ls" 2>&1 || echo code $?')).toMatch(
    /code 4$/,
  )
  await boxyard('rm tool')
  expect(await boxyard('ls -o name')).toBe('')
})

test('the command boxyard runs what is installed', async () => {
  const version = await machine.run("dpkg-query --show --showformat='${Version}' boxyard")
  expect(await machine.run('boxyard --version')).toContain(`boxyard ${version} (`)
  const minted = await machine.run('boxyard admin token --name test --projects demo --permissions read --expires 600')
  const token = minted.trim().split(/\s+/).at(-1)
  const url = 'http://127.0.0.1:8080/v1/projects/demo/boxes'
  expect(await machine.run(`curl -sS --fail -H 'Authorization: Bearer ${token}' ${url}`)).toContain('"boxes":[]')
})

test('the machine is saved as it runs, for tests that go on from it', async () => {
  await machine.run('curl -sS --fail http://127.0.0.1:8080/healthz')
  await keepInstalled(machine, deb)
})
