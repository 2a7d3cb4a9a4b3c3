import { expect, test } from '@jest/globals'
import { untilServing } from '../helpers/vm/boxyard.ts'
import { useInstalled } from '../helpers/vm/use-installed.ts'

const { machine, client } = useInstalled()
const boxes = '/v1/projects/demo/boxes'
const BOXES = Number(process.env['TEST_VM_BOXES'] ?? 5)

/** Returns the names of the boxes that run. */
async function running(): Promise<string[]> {
  const { body } = await client.get(`${boxes}?max_results=1000`)
  return body.boxes.flatMap(({ name, status }: { name: string; status: string }) =>
    status === 'running' ? [name] : [],
  )
}

/** Returns the seconds from the start of the kernel until a unit was active. */
async function secondsUntil(unit: string): Promise<number> {
  const text = await machine().run(`systemctl show --property=ActiveEnterTimestampMonotonic --value ${unit}`)
  return Number(text) / 1e6
}

test(`all of ${BOXES} boxes that ran before a reboot run again, with their files`, async () => {
  const names = Array.from({ length: BOXES }, (_, i) => `box${String(i).padStart(3, '0')}`)
  for (const name of names) {
    expect([name, (await client.post(boxes, { name, config: { ram_mb: 64 } })).status]).toEqual([name, 201])
    await client.shell('demo', name, `echo ${name} >/root/name`)
  }
  expect((await client.post(boxes, { name: 'stopped', config: { ram_mb: 64 } })).status).toBe(201)
  expect((await client.post(`${boxes}/stopped/stop`)).status).toBe(200)
  await machine().reboot()
  await untilServing(machine())
  const servedAt = Number(await machine().run('cut -d " " -f 1 /proc/uptime'))
  while ((await running()).length < names.length) await new Promise((resolve) => setTimeout(resolve, 1_000))
  const allAt = Number(await machine().run('cut -d " " -f 1 /proc/uptime'))
  expect(await running()).toEqual(names)
  for (const name of names) expect((await client.shell('demo', name, 'cat /root/name')).body.stdout).toBe(`${name}\n`)
  const agent = await secondsUntil('boxyard-agent.service')
  process.stderr.write(`seconds after the start of the kernel: agent ready ${agent}, API ${servedAt}, boxes ${allAt}\n`)
})

test('what a boot takes without Boxyard is the measure of what it takes with it', async () => {
  await machine().run('systemctl disable --quiet boxyard-agent boxyard-front')
  await machine().reboot()
  await machine().until('systemctl is-active multi-user.target')
  const without = await secondsUntil('multi-user.target')
  await machine().run('systemctl enable --quiet boxyard-agent boxyard-front')
  await machine().reboot()
  await untilServing(machine())
  const served = await secondsUntil('boxyard-front.service')
  process.stderr.write(`multi-user.target without Boxyard ${without} s, API with it ${served} s\n`)
  expect(await machine().run('systemctl --failed --no-legend')).toBe('')
})
