import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { pidsOf } from '../../helpers/boxes/world.ts'
import { untilSucceeds } from '../../helpers/eventually.ts'
import { armStep, at, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { readText } from '../../helpers/leftovers.ts'
import { startService, type TestService } from '../../helpers/service.ts'

/** Steps at which the test kills the agent, all while the shim starts. The kill matrix (tests/unit/kill-matrix) covers the others. */
const STEPS = [at('runtime.execDetached', 'during-5'), at('runtime.execDetached', 'during-40')]

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const app = `${boxes}/host/services/app`
const body = { command: ['/bin/sh', '-c', 'echo up; exec sleep 54321'], grace_seconds: 2 }
const put = (): Promise<Answer> => client.put(app, body)

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'host', config: { ram_mb: 64 } })
})

afterAll(async () => {
  await service.close()
})

async function processes(): Promise<string[]> {
  const { stdout } = (await client.shell('faults', 'host', `ps | grep '[s]leep 54321' | awk '{ print $1 }'`)).body
  return stdout.trim().split('\n').filter(Boolean)
}

/** Checks that the service has one process if the API shows it as alive, else none. */
async function untilAgreed(): Promise<void> {
  await untilTrue(async () => {
    const { status, body: seen } = await client.get(app)
    const running = await processes()
    if (status === 404) return running.length === 0
    if (seen.state === 'running') return running.length === 1 && Number(running[0]) === seen.active.pid
    return seen.state === 'stopped' && running.length === 0
  })
}

/** Returns the service's process on the host, once its shell has become `sleep`. */
async function hostPid(): Promise<number> {
  const { id } = (await client.get(`${boxes}/host`)).body
  let found: number | undefined
  await untilTrue(async () => {
    found = pidsOf(service, id).find((pid) => readText(`/proc/${pid}/cmdline`).startsWith('sleep\0'))
    return found !== undefined
  })
  return Number(found)
}

function parentOf(pid: number): number {
  return Number(/^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1])
}

/** Lists the output files of detached commands. */
function outputFiles(): string[] {
  const execs = join(service.dataDir, 'execs')
  return readdirSync(execs).flatMap((box) => readdirSync(join(execs, box)))
}

describe('kill -9 of the agent', () => {
  test.each(STEPS)('put of a service, killed at %s: the answer holds, and it runs once or not at all', async (step) => {
    await armStep(service, step)
    const { status } = await put()
    await restartAgent(service, 'SIGKILL')
    await untilAgreed()
    if (status < 300) expect((await client.get(app)).body.state).toBe('running')
    // A repeated request succeeds, wherever the kill interrupted the first.
    await put()
    await untilAgreed()
    await client.delete(app)
    await untilAgreed()
    await untilTrue(async () => outputFiles().length === 0)
  })
})

describe('a service', () => {
  test('goes on without the agent, is adopted, and its end in between is recorded', async () => {
    const { pid } = (await put()).body.active
    await restartAgent(service, 'SIGKILL')
    const taken = (await client.get(app)).body
    expect(taken).toMatchObject({ state: 'running', active: { pid, restarts: 0 } })
    await untilSucceeds(async () => expect((await client.get(`${app}/logs`)).body.data).toBe('up\n'))
    const held = await hostPid()
    await service.killAgent('SIGKILL')
    process.kill(held, 'SIGTERM')
    await service.startAgent()
    await untilTrue(async () => (await client.get(app)).body.active?.restarts === 1)
    await untilAgreed()
    expect((await client.get(app)).body.active.last_exit).toMatchObject({ exit_code: null, signal: 'SIGTERM' })
    await untilSucceeds(async () => expect((await client.get(`${app}/logs`)).body.data).toBe('up\nup\n'))
    await client.delete(app)
  })

  test('whose shim is killed too is started again, once', async () => {
    await put()
    const holder = parentOf(await hostPid())
    await service.killAgent('SIGKILL')
    process.kill(holder, 'SIGKILL')
    await service.startAgent()
    await untilTrue(async () => (await client.get(app)).body.active?.restarts === 1)
    await untilAgreed()
    await client.delete(app)
    await untilAgreed()
  })
})
