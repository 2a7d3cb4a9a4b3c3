import { afterAll, beforeAll, expect, jest, test } from '@jest/globals'
import type { Client } from '../helpers/front/client.ts'
import { connectClient, untilServing, writeSettings } from '../helpers/vm/boxyard.ts'
import { startBooted } from '../helpers/vm/installed.ts'
import type { Machine } from '../helpers/vm/machine.ts'
import { archiveOf, packWorkTree } from '../helpers/vm/release.ts'
import { remainsOn } from '../helpers/vm/remains.ts'
import { keepLogs, TEST_LIMIT_MS } from '../helpers/vm/use-installed.ts'

const INSTALL = 'cd /root/boxyard-*-linux-*/ && ./install.sh'
const boxes = '/v1/projects/demo/boxes'
jest.setTimeout(TEST_LIMIT_MS)
let machine: Machine
let client: Client

beforeAll(async () => {
  const archive = archiveOf(await packWorkTree())
  machine = await startBooted()
  await machine.copyIn(archive, '/root/boxyard.tar.zst')
  await machine.run('tar --zstd -xf /root/boxyard.tar.zst -C /root')
})

afterAll(async () => {
  await keepLogs(machine)
  await machine?.close()
})

test('install.sh names the programs that are missing, and installs nothing', async () => {
  await machine.run('mv /usr/bin/crun /root/crun')
  const { exitCode, stderr } = await machine.try(INSTALL)
  expect([exitCode, stderr]).toEqual([1, 'These programs are missing; install them first: crun\n'])
  await machine.run('[ ! -e /usr/lib/boxyard ] && mv /root/crun /usr/bin/crun')
})

test('doctor runs from the archive, before it is installed', async () => {
  const told = await machine.run('/root/boxyard-*-linux-*/root/usr/bin/boxyard doctor || [ $? = 1 ]')
  expect(told).toContain('ok       kernel')
})

test('install.sh installs the service, which serves and starts a box', async () => {
  await writeSettings(machine)
  expect(await machine.run(INSTALL)).toContain('Installed.')
  await untilServing(machine)
  expect(await machine.run('systemctl is-enabled boxyard-agent boxyard-front')).toBe('enabled\nenabled')
  expect(await machine.run('boxyard --version')).toMatch(/^boxyard \d/)
  client = await connectClient(machine)
  expect((await client.post(boxes, { name: 'web', config: { ram_mb: 128 } })).status).toBe(201)
  expect((await client.shell('demo', 'web', 'echo kept >/root/file; hostname')).body.stdout).toBe('web\n')
})

test('install.sh over it replaces the program, and leaves boxes running', async () => {
  const born = 'cut -d " " -f 22 /proc/1/stat'
  const before = (await client.shell('demo', 'web', born)).body.stdout
  const agent = 'systemctl show --property=MainPID --value boxyard-agent'
  const pid = await machine.run(agent)
  await machine.run(INSTALL)
  await machine.until(`[ "$(${agent})" != ${pid} ]`)
  await untilServing(machine)
  expect((await client.shell('demo', 'web', born)).body.stdout).toBe(before)
})

test('install.sh --remove leaves data and settings, and nothing else', async () => {
  expect(await machine.run(`${INSTALL} --remove`)).toContain(
    'Data stays in /var/lib/boxyard, settings in /etc/boxyard.',
  )
  expect(await remainsOn(machine)).toEqual([])
  const left =
    'find / -xdev -name "*boxyard*" -not -path "/proc/*" -not -path "/root/*" -not -path "/var/lib/boxyard/*"'
  expect((await machine.run(left)).split('\n').sort()).toEqual([
    '/etc/boxyard',
    '/etc/boxyard/boxyard.conf',
    '/var/lib/boxyard',
  ])
  expect(await machine.run('systemctl --failed --no-legend')).toBe('')
})

test('what was removed goes on with its data where it is installed again', async () => {
  await machine.run(INSTALL)
  await untilServing(machine)
  await machine.until(`curl -sS --fail -H "Authorization: Bearer $(cat /var/lib/boxyard/admin.token)" \
    http://127.0.0.1:8080${boxes}/web | grep '"status":"running"'`)
  expect((await client.shell('demo', 'web', 'cat /root/file')).body.stdout).toBe('kept\n')
})
