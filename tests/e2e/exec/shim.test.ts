import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { instanceOf, pidsOf } from '../../helpers/boxes/world.ts'
import { createClient } from '../../helpers/front/client.ts'
import { readText } from '../../helpers/leftovers.ts'
import { draw } from '../../helpers/sample.ts'
import { startService, type TestService } from '../../helpers/service.ts'

let service: TestService
const client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/held/boxes'
const box = `${boxes}/it`
let boxId: string

beforeAll(async () => {
  service = await startService()
  boxId = (await client.post(boxes, { name: 'it' })).body.id
})

afterAll(async () => {
  await service.close()
})

/** Starts a detached command and returns its path. */
async function hold(shell: string, more: Record<string, unknown> = {}, at = box): Promise<string> {
  const begun = await client.post(`${at}/exec`, { shell, no_hup: true, ...more })
  // A short command may have ended already.
  expect(begun.status).toBe(begun.body.status === 'running' ? 202 : 200)
  return `${at}/exec/${begun.body.id}`
}

const end = async (path: string) => (await client.get(`${path}?wait_seconds=25`)).body
const begunText = (path: string) => client.get(`${path}/output?wait_seconds=20`)
const idOf = (path: string): string => path.split('/').at(-1) ?? ''

/** Returns the pids of this service's shims. */
function shims(): number[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return pids.map(Number).filter((pid) => {
    try {
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return command.includes('shim/main.ts') && command.includes(service.dataDir)
    } catch {
      return false
    }
  })
}

/** Returns the names of the cgroups of this service's detached commands. */
function heldCgroups(): string[] {
  const root = existsSync('/sys/fs/cgroup/freezer') ? '/sys/fs/cgroup/freezer' : '/sys/fs/cgroup'
  const own = `${root}/boxyard/${instanceOf(service)}`
  return entriesOf(own)
    .flatMap((name) => entriesOf(`${own}/${name}`))
    .filter((name) => name.startsWith('held-'))
}

/** Lists a directory. Returns nothing for a missing one. */
function entriesOf(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}

/** Resolves once the shim has written a command's exit file, with or without an agent. */
async function untilNoted(path: string): Promise<void> {
  const execs = join(service.dataDir, 'execs')
  await untilTrue(() => readdirSync(execs).some((id) => existsSync(join(execs, id, `${idOf(path)}.exit`))))
}

/** Kills the `sleep` that a command waits for, with or without an agent, so that the command continues. */
async function wake(seconds: number): Promise<void> {
  await untilTrue(() => {
    const pid = pidsOf(service, boxId).find((each) => readText(`/proc/${each}/cmdline`) === `sleep\0${seconds}\0`)
    if (pid === undefined) return false
    process.kill(pid, 'SIGKILL')
    return true
  })
}

/** Matches arguments, because a zombie that init has not reaped yet has none. */
async function untilNoSleep(): Promise<void> {
  await untilTrue(async () => (await client.shell('held', 'it', 'ps | grep "sleep 60[0]"')).body.exit_code === 1)
}

describe.each(['SIGTERM', 'SIGKILL'] as const)('when the agent ends by %s', (signal) => {
  test('a detached command goes on, and its output and exit code are recorded', async () => {
    const path = await hold(
      `echo begun; until [ -e /tmp/${signal} ]; do sleep 0.05; done; echo done; echo oops >&2; exit 7`,
    )
    await begunText(path)
    await service.killAgent(signal)
    await service.startAgent()
    const begun = { status: 'running', stdout: 'begun\n', stderr: '', detached: true }
    expect((await client.get(path)).body).toMatchObject(begun)
    await client.shell('held', 'it', `touch /tmp/${signal}`)
    expect(await end(path)).toMatchObject({
      status: 'exited',
      exit_code: 7,
      stdout: 'begun\ndone\n',
      stderr: 'oops\n',
    })
  })

  test('a command that ends or times out without an agent is recorded by the next', async () => {
    const [ended, late] = [
      await hold('echo in time; sleep 702; exit 9'),
      // Must outlive the agent, which would otherwise record the timeout.
      await hold('sleep 600', { timeout_seconds: 5 }),
    ]
    await service.killAgent(signal)
    await wake(702)
    await untilNoted(ended)
    await untilNoted(late)
    await service.startAgent()
    expect(await end(ended)).toMatchObject({ status: 'exited', exit_code: 9, stdout: 'in time\n' })
    expect(await end(late)).toMatchObject({ status: 'timed_out', exit_code: null, signal: 'SIGKILL' })
  })

  test('the last 8 MiB of long output can be read afterwards', async () => {
    const path = await hold('echo go; sleep 703; head -c 20000000 /dev/zero | tr "\\0" y; echo; echo end')
    await begunText(path)
    await service.killAgent(signal)
    await wake(703)
    await untilNoted(path)
    await service.startAgent()
    expect(await end(path)).toMatchObject({ status: 'exited', truncated: true, next_offset: { stdout: 20_000_008 } })
    let [offset, kept, text] = [0, 0, '']
    for (;;) {
      const piece = (await client.get(`${path}/output?offset=${offset}`)).body
      if (kept === 0) expect([piece.offset, piece.truncated]).toEqual([20_000_008 - 8 * 1024 ** 2, true])
      kept += piece.next_offset - piece.offset
      offset = piece.next_offset
      text = piece.data
      if (piece.end) break
    }
    expect(kept).toBe(8 * 1024 ** 2)
    expect(text.endsWith('yy\nend\n')).toBe(true)
  })

  test('an attached command ends and is recorded as lost', async () => {
    const begun = await client.post(`${box}/exec?wait_seconds=0`, { shell: 'sleep 600' })
    const path = `${box}/exec/${begun.body.id}`
    await service.killAgent(signal)
    await service.startAgent()
    const { status, exit_code: exitCode } = (await client.get(path)).body
    expect([status, exitCode]).toEqual([signal === 'SIGKILL' ? 'lost' : 'killed', null])
    await untilNoSleep()
  })
})

describe('the shim', () => {
  test('is one process for all commands and all agents', async () => {
    const paths = await Promise.all(Array.from({ length: 8 }, () => hold('sleep 600')))
    const [first, ...others] = shims()
    expect(others).toEqual([])
    await service.killAgent()
    await service.startAgent()
    paths.push(await hold('sleep 600'))
    expect(shims()).toEqual([first])
    for (const path of paths) await client.post(`${path}/signal`, { signal: 'SIGKILL' })
    for (const path of paths) expect((await end(path)).status).toBe('killed')
  })

  test('keeps the output of its commands when it is killed without an agent', async () => {
    const path = await hold('echo seen; echo bad >&2; sleep 600')
    await begunText(path)
    await client.get(`${path}/output?stream=stderr&wait_seconds=20`)
    const pids = shims()
    await service.killAgent()
    for (const pid of pids) process.kill(pid, 'SIGKILL')
    await service.startAgent()
    const lost = {
      status: 'lost',
      exit_code: null,
      stdout: 'seen\n',
      stderr: 'bad\n',
      next_offset: { stdout: 5, stderr: 4 },
    }
    expect((await client.get(path)).body).toMatchObject(lost)
    await untilNoSleep()
  })

  test('ends its commands with it when killed; they are lost, those that had ended are not', async () => {
    const [running, ended] = [await hold('echo seen; sleep 600'), await hold('exit 5')]
    await end(ended)
    await begunText(running)
    for (const pid of shims()) process.kill(pid, 'SIGKILL')
    expect(await end(running)).toMatchObject({ status: 'lost', exit_code: null, signal: null, stdout: 'seen\n' })
    expect((await client.get(ended)).body).toMatchObject({ status: 'exited', exit_code: 5 })
    await untilNoSleep()
    expect(await end(await hold('exit 6'))).toMatchObject({ exit_code: 6 })
  })

  test('is killed without an agent: the next agent ends its commands and records them as lost', async () => {
    const [running, ended] = [await hold('sleep 600'), await hold('sleep 704; exit 5')]
    await service.killAgent()
    await wake(704)
    await untilNoted(ended)
    for (const pid of shims()) process.kill(pid, 'SIGKILL')
    await service.startAgent()
    expect((await client.get(running)).body).toMatchObject({ status: 'lost', exit_code: null })
    expect(await end(ended)).toMatchObject({ status: 'exited', exit_code: 5 })
    await untilNoSleep()
  })

  test.each(draw([0, 2, 4, 6, 8, 10, 15, 25], 4))(
    'an agent killed %i ms into a start leaves no command without a record',
    async (ms) => {
      const asked = client.post(`${box}/exec`, { shell: 'sleep 600', no_hup: true }).catch(() => null)
      await sleep(ms)
      await service.killAgent()
      const answer = await asked
      await service.startAgent()
      const running: { id: string }[] = (await client.get(`${box}/exec?status=running`)).body.execs
      if (answer?.status === 202) expect(running.map(({ id }) => id)).toEqual([answer.body.id])
      await untilTrue(() => heldCgroups().length === running.length)
      for (const { id } of running) {
        expect(heldCgroups()).toContain(`held-${id}`)
        await client.post(`${box}/exec/${id}/signal`, { signal: 'SIGKILL' })
        expect((await end(`${box}/exec/${id}`)).status).toBe('killed')
      }
    },
  )

  test('a command that ended with its box, which was stopped by the next agent, was killed', async () => {
    await client.post(boxes, { name: 'stopped' })
    const path = await hold('sleep 600', {}, `${boxes}/stopped`)
    await service.killAgent()
    await service.startAgent()
    await client.post(`${boxes}/stopped/stop`)
    expect((await end(path)).status).toBe('killed')
    expect((await client.delete(`${boxes}/stopped`)).status).toBe(204)
  })

  test('does not keep the pool busy: the next agent serves boxes and data as before', async () => {
    const path = await hold('sleep 600')
    await service.killAgent('SIGTERM')
    const [shim = 0] = shims()
    const mounts = readFileSync(`/proc/${shim}/mountinfo`, 'utf8')
    expect(mounts).not.toContain(`/run/boxyard/${instanceOf(service)}/pool`)
    expect(mounts).not.toContain(`/run/boxyard/${instanceOf(service)}/work `)
    await service.startAgent()
    expect((await client.post(boxes, { name: 'fresh' })).body.status).toBe('running')
    await client.delete(`${boxes}/fresh`)
    await client.post(`${path}/signal`, { signal: 'SIGKILL' })
    expect((await end(path)).status).toBe('killed')
  })

  test('exits once it has no command and no agent', async () => {
    await end(await hold('true'))
    expect(shims()).toHaveLength(1)
    await service.killAgent()
    await untilTrue(() => shims().length === 0)
    await service.startAgent()
    expect(await end(await hold('exit 2'))).toMatchObject({ exit_code: 2 })
  })

  test('is gone when the service is taken down, and its commands are recorded as killed', async () => {
    const path = await hold('sleep 600')
    await service.killAgent('SIGTERM')
    expect(shims()).toHaveLength(1)
    await service.runAgentMode('down')
    expect(shims()).toEqual([])
    await service.startAgent()
    expect((await end(path)).status).toBe('killed')
  })

  test('no file of a command stays when its box is deleted', async () => {
    await client.post(boxes, { name: 'brief' })
    const path = await hold('head -c 300000 /dev/zero', {}, `${boxes}/brief`)
    await end(path)
    const { id } = (await client.get(`${boxes}/brief`)).body
    const directory = join(service.dataDir, 'execs', id)
    // The agent deletes an empty output file once it has recorded the end.
    await untilTrue(() => readdirSync(directory).length === 1)
    expect(readdirSync(directory)).toEqual([`${idOf(path)}.stdout`])
    await client.delete(`${boxes}/brief`)
    await untilTrue(() => !existsSync(directory))
  })
})
