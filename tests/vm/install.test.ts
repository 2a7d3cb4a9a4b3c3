import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { connectClient, installPackage, untilServing } from '../helpers/vm/boxyard.ts'
import { createMachine, type Machine } from '../helpers/vm/machine.ts'
import { packWorkTree } from '../helpers/vm/release.ts'

let machine: Machine

beforeAll(async () => {
  machine = await createMachine()
  await machine.start()
})

afterAll(() => machine?.close())

test('apt installs the package, the service comes up, and a box runs a command', async () => {
  await installPackage(machine, await packWorkTree())
  await untilServing(machine)
  expect(await machine.run('boxyard --version')).toMatch(/^boxyard \d/)
  const client = await connectClient(machine)
  expect((await client.post('/v1/projects/demo/boxes', { name: 'web' })).status).toBe(201)
  const { body } = await client.shell('demo', 'web', 'echo hello from $(hostname)')
  expect(body).toMatchObject({ status: 'exited', exit_code: 0, stdout: 'hello from web\n' })
})
