import { beforeAll, describe, expect, test } from '@jest/globals'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const lab = useSshLab(useOwnService())
const { client } = lab
const BOX = '/v1/projects/demo/boxes/small'
const HOG = 'tail -c 200m /dev/zero'
const CHILD = `${HOG} | cat; exit 5`
const TOLD =
  'boxyard: Out of memory: the kernel killed 1 process while the command ran, because the memory of the box was full.\n'

async function kills(): Promise<number> {
  const text = await (await fetch(lab.service().metricsUrl)).text()
  return Number(/^boxyard_oom_kills_total (\d+)$/m.exec(text)?.[1])
}

describe('a command that ran out of memory, or whose child did,', () => {
  beforeAll(async () => {
    await client.post('/v1/projects/demo/boxes', { name: 'small', config: { ram_mb: 64 } })
  })

  test('says so in its record, as an event and a metric', async () => {
    const before = await kills()
    const since = (await client.get('/v1/projects/demo/events?since=now')).body.next_cursor
    const child = (await client.post(`${BOX}/exec`, { shell: CHILD })).body
    expect(child).toMatchObject({ status: 'exited', exit_code: 5, oom_kills: 1, reason: null })
    const self = (await client.post(`${BOX}/exec?wait_seconds=20`, { shell: `exec ${HOG}`, no_hup: true })).body
    expect(self).toMatchObject({ status: 'out_of_memory', exit_code: null, signal: 'SIGKILL', oom_kills: 1 })
    expect((await client.get(`${BOX}/exec/${child.id}`)).body.oom_kills).toBe(1)
    const { events } = (await client.get(`/v1/projects/demo/events?since=${since}&type=box.oom_killed`)).body
    expect(events).toMatchObject([
      { resource: BOX, project: 'demo', data: { exec: child.id, oom_kills: 1, status: 'exited', exit_code: 5 } },
      { resource: BOX, project: 'demo', data: { exec: self.id, oom_kills: 1, status: 'out_of_memory' } },
    ])
    expect(await kills()).toBe(before + 2)
    expect((await client.post(`${BOX}/exec`, { shell: 'exit 5' })).body).toMatchObject({ exit_code: 5, oom_kills: 0 })
  })

  test('says so to a client of the WebSocket, the command line and SSH, whatever its code', async () => {
    const box = createBoxyard({ url: lab.service().url, token: lab.service().adminToken }).box('demo', 'small')
    const stream = await box.stream(['sh', '-c', `${HOG} | cat; exit 0`])
    expect(await stream.ended()).toEqual({ exitCode: 0, message: TOLD.slice(9, -1), oomKills: 1 })
    const { code, stderr } = await lab.boxyard('exec', 'small', 'sh', '-c', CHILD)
    expect([code, stderr]).toEqual([5, expect.stringContaining(TOLD)])
    const killed = await lab.boxyard('exec', 'small', ...HOG.split(' '))
    expect([killed.code, killed.stderr]).toEqual([
      137,
      'boxyard: The command was killed, because the memory of the box was full.\n',
    ])
    const ssh = await lab.ssh(['small.demo.boxyard', CHILD])
    expect([ssh.code, ssh.stderr]).toEqual([5, expect.stringContaining(TOLD)])
    const quiet = await lab.boxyard('exec', 'small', 'sh', '-c', 'exit 5')
    expect([quiet.code, quiet.stderr]).toEqual([5, ''])
  })
})
