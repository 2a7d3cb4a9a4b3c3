import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import { connectClient, installPackage, untilServing } from '../helpers/vm/boxyard.ts'
import { keepInstalled, startInstalled } from '../helpers/vm/installed.ts'
import { createMachine, type Machine } from '../helpers/vm/machine.ts'
import { packWorkTree } from '../helpers/vm/release.ts'
import { keepLogs, TEST_LIMIT_MS } from '../helpers/vm/use-installed.ts'

jest.setTimeout(TEST_LIMIT_MS)
let machine: Machine
let deb: string

beforeAll(async () => {
  deb = await packWorkTree()
  machine = await createMachine()
  await machine.start()
})

afterAll(async () => {
  await keepLogs(machine)
  await machine?.close()
})

test('apt installs the package on a bare Debian, and the service comes up', async () => {
  await installPackage(machine, deb)
  await untilServing(machine)
  const status = await machine.run('systemctl show --property=ActiveState,SubState,Result,NRestarts boxyard-agent')
  expect(status).toBe('Result=success\nNRestarts=0\nActiveState=active\nSubState=running')
  expect(await machine.run('systemctl is-enabled boxyard-agent boxyard-front')).toBe('enabled\nenabled')
  expect(await machine.run('systemctl --failed --no-legend')).toBe('')
  // Starts after a power cut take less than half of the time with it.
  expect(Number(await machine.run('find /var/cache/boxyard -type f | wc -l'))).toBeGreaterThan(500)
})

test('the command boxyard runs what is installed', async () => {
  const version = await machine.run("dpkg-query --show --showformat='${Version}' boxyard")
  expect(await machine.run('boxyard --version')).toContain(`boxyard ${version} (`)
  const minted = await machine.run('boxyard admin token --name test --projects demo --permissions read --expires 600')
  const token = minted.trim().split(/\s+/).at(-1)
  const url = 'http://127.0.0.1:8080/v1/projects/demo/boxes'
  expect(await machine.run(`curl -sS --fail -H 'Authorization: Bearer ${token}' ${url}`)).toContain('"boxes":[]')
})

test('the first box runs a command', async () => {
  const client = await connectClient(machine)
  expect((await client.post('/v1/projects/demo/boxes', { name: 'web' })).status).toBe(201)
  const { body } = await client.shell('demo', 'web', 'echo hello from $(hostname)')
  expect(body).toMatchObject({ status: 'exited', exit_code: 0, stdout: 'hello from web\n' })
  expect((await client.delete('/v1/projects/demo/boxes/web')).status).toBe(204)
})

test('the machine is saved as it runs, and serves where it goes on', async () => {
  await keepInstalled(machine, deb)
  await machine.close()
  machine = await startInstalled()
  await untilServing(machine)
  expect(await machine.run('systemctl show --property=NRestarts --value boxyard-agent')).toBe('0')
})
