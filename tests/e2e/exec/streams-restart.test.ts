import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { request } from 'undici'
import { ROOT } from '../../../infra/commands.ts'
import { eventually } from '../../helpers/eventually.ts'
import { connectTerminal, type TestTerminal } from '../../helpers/exec/terminal.ts'
import { createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const box = '/v1/projects/restarts/boxes/it'

beforeAll(async () => {
  service = await startService()
  await client.post('/v1/projects/restarts/boxes', { name: 'it' })
})

afterAll(async () => {
  await service.close()
})

const open = (path: string): Promise<TestTerminal> =>
  connectTerminal(`${service.url}${box}/${path}`, { token: service.adminToken })
const record = async (id: string) => (await client.get(`${box}/exec/${id}`)).body
const untilGone = (command: string): Promise<void> =>
  eventually(async () => (await client.shell('restarts', 'it', `ps | grep "${command}"`)).body.exit_code === 1)
async function restartAgent(): Promise<void> {
  await service.killAgent()
  await service.startAgent()
}

describe('when the agent is killed', () => {
  test('a console goes on, and is back with its screen', async () => {
    const before = await open('console?session=kept')
    before.type('i=0; while [ $i -lt 8 ]; do echo line-$i; i=$((i+1)); sleep 0.3; done; echo all-$((1+1))\n')
    await before.until(/line-0/)
    const [{ id, process: pid }] = (await client.get(`${box}/sessions`)).body.sessions
    await restartAgent()
    expect((await before.ended).status).toBeNull()
    const [session] = (await client.get(`${box}/sessions`)).body.sessions
    expect(session).toMatchObject({ id, process: pid, name: 'kept', viewers: 0 })
    const after = await open('console?session=kept')
    await after.until(/line-0[\s\S]*line-7[\s\S]*all-2/)
    after.type('exit 3\n')
    expect((await after.ended).status).toMatchObject({ details: { causes: [{ message: '3' }] } })
    expect((await client.get(`${box}/sessions`)).body.sessions).toEqual([])
  })

  test('the console client says that the session goes on', async () => {
    const { hostname, port } = new URL(service.url)
    const place = { BOXYARD_HOST: hostname, BOXYARD_PORT: port, BOXYARD_DATA_DIR: service.dataDir }
    const args = ['--disable-warning=ExperimentalWarning', join(ROOT, 'infra/console.ts'), 'restarts', 'it']
    const console = spawn(process.execPath, [...args, '--session', 'said'], { env: { ...process.env, ...place } })
    let output = ''
    for (const stream of [console.stdout, console.stderr]) stream.on('data', (data: Buffer) => (output += String(data)))
    const exited = once(console, 'exit')
    console.stdin.write('echo ready-$((1+1))\n')
    await eventually(async () => output.includes('ready-2'))
    await restartAgent()
    expect(await exited).toEqual([1, null])
    await eventually(async () =>
      output.endsWith('\r\nThe service closed the connection. The session keeps running.\r\n'),
    )
    expect((await client.delete(`${box}/sessions/said`)).status).toBe(204)
  })

  test('a streamed command ends and is recorded as lost, unless it has no_hup', async () => {
    const ends = await open('exec/ws?command=sleep&command=600&tty=true&stdin=true')
    const goesOn = await open('exec/ws?command=sh&command=-c&command=sleep+2;+echo+done;+exit+4&no_hup=true')
    await restartAgent()
    expect((await ends.ended).status).toBeNull()
    expect((await goesOn.ended).status).toBeNull()
    expect(await record(ends.id)).toMatchObject({ status: 'lost', exit_code: null, tty: true })
    const kept = (await client.get(`${box}/exec/${goesOn.id}?wait_seconds=20`)).body
    expect(kept).toMatchObject({ status: 'exited', exit_code: 4, stdout: 'done\n', detached: true })
    await untilGone('sleep 60[0]')
  })

  test('a SIGTERM closes streams and leaves consoles running', async () => {
    const console = await open('console?session=polite')
    console.type('echo ready-$((1+1))\n')
    await console.until(/ready-2/)
    await service.restart()
    expect((await console.ended).status).toBeNull()
    const again = await open('console?session=polite')
    await again.until(/ready-2/)
    again.leave()
    expect((await client.delete(`${box}/sessions/polite`)).status).toBe(204)
  })
})

describe('when a client leaves', () => {
  test('its command gets SIGHUP, and SIGKILL if it ignores that', async () => {
    const heeds = await open('exec/ws?command=sleep&command=601&tty=true')
    const ignores = await open(
      `exec/ws?command=sh&command=-c&command=${encodeURIComponent("trap '' HUP; echo deaf; sleep 602; sleep 603")}`,
    )
    await ignores.until(/deaf/)
    heeds.leave()
    ignores.leave()
    const ended = async (id: string) => (await client.get(`${box}/exec/${id}?wait_seconds=20`)).body
    expect(await ended(heeds.id)).toMatchObject({ status: 'killed', signal: 'SIGHUP' })
    expect(await ended(ignores.id)).toMatchObject({ status: 'killed', signal: 'SIGKILL' })
    await untilGone('sleep 60[123]')
  })

  test('a command with no_hup goes on, and its input ends', async () => {
    const line = encodeURIComponent('cat >/tmp/heard; sleep 1; echo end')
    const stream = await open(`exec/ws?command=sh&command=-c&command=${line}&stdin=true&no_hup=true`)
    stream.type('said\n')
    await eventually(async () => (await client.shell('restarts', 'it', 'cat /tmp/heard')).body.stdout === 'said\n')
    stream.leave()
    expect((await client.get(`${box}/exec/${stream.id}?wait_seconds=20`)).body).toMatchObject({ stdout: 'end\n' })
    expect((await client.shell('restarts', 'it', 'cat /tmp/heard')).body.stdout).toBe('said\n')
  })

  test('stopping the box ends streams of its files', async () => {
    const console = await open('console?session=stops')
    const command = await open('exec/ws?command=sleep&command=600')
    await client.post(`${box}/stop`)
    expect((await console.ended).code).toBe(1000)
    expect((await command.ended).status).toMatchObject({ status: 'Failure' })
    await client.post(`${box}/resume`)
    expect((await client.get(`${box}/sessions`)).body.sessions).toEqual([])
  })
})

test('a slow upload is not written to a volume that has moved meanwhile', async () => {
  const base = '/v1/projects/restarts'
  await client.post(`${base}/boxes`, { name: 'other' })
  await client.post(`${base}/data`, { name: 'disk', size_gb: 1 })
  await client.post(`${base}/data/disk/attach`, { box: 'it', path: '/mnt/disk' })
  await client.post(`${box}/stop`)
  const isHalf = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const bytes = async function* (): AsyncGenerator<Uint8Array> {
    for (let n = 0; n < 20; n++) yield Buffer.alloc(65_536, 'x')
    isHalf.resolve()
    await goOn.promise
    yield Buffer.from('end')
  }
  const written = request(`${service.url}${box}/files/write?path=/mnt/disk/late`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${service.adminToken}`, 'content-type': 'application/octet-stream' },
    body: Readable.from(bytes()),
  })
  await isHalf.promise
  await eventually(() => hasUnnamedFile(service.agentPid))
  await client.post(`${base}/data/disk/detach`, { box: 'it' })
  await client.post(`${base}/data/disk/attach`, { box: 'other', path: '/mnt/disk' })
  goOn.resolve()
  const answer = await written
  expect([answer.statusCode, ((await answer.body.json()) as { code: string }).code]).toEqual([409, 'box_busy'])
  expect((await client.shell('restarts', 'other', 'ls /mnt/disk')).body.stdout).toBe('')
})

/** Returns whether a process has an unnamed file open, as the agent does during an upload. */
function hasUnnamedFile(pid: number): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return /\/#\d+ \(deleted\)$/.test(readlinkSync(`/proc/${pid}/fd/${fd}`))
    } catch {
      return false
    }
  })
}
