import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { eventually } from '../../helpers/eventually.ts'
import { armStep, at, type FaultStep, restartAgent } from '../../helpers/fault-steps.ts'
import { type Answer, type Client, createClient } from '../../helpers/front/client.ts'
import { startService, type TestService } from '../../helpers/service.ts'

/** Steps at which the test kills the agent, all in the middle of a start. The kill matrix (tests/unit/kill-matrix) covers the others. */
const STEPS: readonly (readonly [Action, FaultStep])[] = [
  ['deploy', at('runtime.execDetached', 'during-15')],
  ['fork', at('runtime.start', 'during-8')],
]
type Action = 'deploy' | 'fork'

let service: TestService
const client: Client = createClient(
  () => service.url,
  () => service.adminToken,
)
const boxes = '/v1/projects/faults/boxes'
const app = `${boxes}/host/services/app`
const version = (seconds: number): string[] => ['/bin/sh', '-c', `exec sleep ${seconds}`]
const [one, two] = [54_321, 54_322]
const act: Record<Action, () => Promise<Answer>> = {
  deploy: () => client.post(`${app}/deploy`, { command: version(two) }),
  fork: () => client.post(`${app}/deploy`, { command: version(two), isolation: 'fork' }),
}
const promote = (): Promise<Answer> => client.post(`${app}/promote`)

beforeAll(async () => {
  service = await startService({ agentScript: 'tests/fixtures/faulty-agent.ts' })
  await client.post(boxes, { name: 'host', config: { ram_mb: 64 } })
})

afterAll(async () => {
  await service.close()
})

/** Returns true once the new version exists as a preview. */
async function isDeployed(): Promise<boolean> {
  const { preview } = (await client.get(app)).body
  return preview?.spec.command.at(-1) === `exec sleep ${two}`
}

/** Checks that exactly the versions that the API shows as alive run, one of them active. */
async function untilAgreed(): Promise<void> {
  await eventually(async () => {
    const { body: seen } = await client.get(app)
    const { stdout } = (await client.shell('faults', 'host', `ps | grep '[s]leep 5432' | awk '{ print $1 }'`)).body
    const running = stdout.trim().split('\n').filter(Boolean).map(Number).toSorted()
    const inBox = [seen.active, seen.preview, seen.previous].filter((each) => each?.alive && each.isolation !== 'fork')
    const shown = inBox.map(({ pid }) => pid)
    if (seen.preview !== null && !seen.preview.alive) return false
    return seen.active.alive && JSON.stringify(running) === JSON.stringify(shown.toSorted())
  })
}

/** Lists the output files of detached commands. */
function outputFiles(): string[] {
  const execs = join(service.dataDir, 'execs')
  return readdirSync(execs).flatMap((box) => readdirSync(join(execs, box)))
}

describe('kill -9 of the agent', () => {
  test.each(STEPS)(
    '%s killed at %s: the answer holds, one version is active, and nothing runs twice or is left over',
    async (action, step) => {
      await client.put(app, { command: version(one), grace_seconds: 1 })
      await armStep(service, step)
      const { status } = await act[action]()
      await restartAgent(service, 'SIGKILL')
      await untilAgreed()
      if (status < 300) expect(await isDeployed()).toBe(true)
      // A repeated request completes an action that was interrupted before the agent recorded it.
      if (!(await isDeployed())) await act[action]()
      await eventually(isDeployed)
      await untilAgreed()
      await client.delete(app)
      await eventually(async () => {
        const { stdout } = (await client.shell('faults', 'host', `ps | grep -c '[s]leep 5432'`)).body
        const { deleting, orphans } = (await client.get('/v1/storage')).body
        return stdout === '0\n' && outputFiles().length === 0 && deleting === 0 && orphans.length === 0
      })
    },
  )
})

describe('versions of a service', () => {
  test('go on without the agent and are adopted; one that ignores SIGTERM is killed', async () => {
    const stubborn = ['/bin/sh', '-c', 'trap "" TERM; while :; do sleep 0.1; done']
    await client.put(app, { command: stubborn, grace_seconds: 1 })
    await client.post(`${app}/deploy`, { command: version(one) })
    const { body: before } = await promote()
    await act.deploy()
    await restartAgent(service, 'SIGKILL')
    const { body: seen } = await client.get(app)
    expect([seen.active.pid, seen.previous.pid]).toEqual([before.active.pid, before.previous.pid])
    expect(seen).toMatchObject({ active: { alive: true }, preview: { state: 'running' }, previous: { alive: true } })
    expect((await promote()).body.previous.pid).toBe(seen.active.pid)
    await restartAgent(service, 'SIGKILL')
    await eventually(async () => {
      const line = `kill -0 ${before.previous.pid} 2>/dev/null || echo gone`
      return (await client.shell('faults', 'host', line)).body.stdout === 'gone\n'
    })
    await client.delete(app)
  })
})
