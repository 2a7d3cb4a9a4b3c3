import { expect } from '@jest/globals'
import { defineKillMatrix, type FaultSite, PROJECT, type Scenario } from '../../helpers/imagined-host/matrix.ts'

const app = `${PROJECT}/boxes/host/services/app`
const one = { command: ['one'], port: 3000, grace_seconds: 1 }

const makeBox = async ({ ask }: FaultSite): Promise<void> => {
  await ask('POST', `${PROJECT}/boxes`, { name: 'host', config: { ram_mb: 64 } })
}
/** Makes a box with a service, and sends it these requests. */
const make =
  (...requests: (readonly [path: string, body?: object])[]): Scenario['prepare'] =>
  async (site) => {
    await makeBox(site)
    await site.ask('PUT', app, one)
    for (const [path, body] of requests) expect((await site.ask('POST', `${app}/${path}`, body)).status).toBe(200)
  }
/** How long runs continue after a request to stop. */
const lastsMs = 2_500
const DEPLOY = ['deploy', { command: ['two'] }] as const
const DEPLOY_FORK = ['deploy', { command: ['two'], isolation: 'fork' }] as const

/** The service is in the state that the answer reported. */
const holds =
  (
    isThere: (service: {
      spec: { command: string[] }
      active: Version
      preview: Version
      state: string
      status: number
    }) => boolean,
  ): NonNullable<Scenario['holds']> =>
  async ({ ask }, { isDone }) => {
    const { status, body } = await ask('GET', app)
    if (isDone) expect(isThere({ ...body, status }) || body).toBe(true)
  }
type Version = { spec: { command: string[] } } | null
const runs = (version: Version, command: string): boolean => version?.spec.command[0] === command

await defineKillMatrix('put of a service', {
  prepare: makeBox,
  act: (ask) => ask('PUT', app, one),
  holds: holds(({ state }) => state === 'running'),
})

await defineKillMatrix('change of a service', {
  prepare: make(),
  act: (ask) => ask('PUT', app, { ...one, command: ['other'] }),
  holds: holds((service) => runs(service, 'other')),
})

await defineKillMatrix('stop of a service', {
  prepare: make(),
  act: (ask) => ask('POST', `${app}/stop`),
  holds: holds(({ state }) => state === 'stopped'),
  lastsMs,
})

await defineKillMatrix('start of a service', {
  prepare: make(['stop']),
  act: (ask) => ask('POST', `${app}/start`),
  holds: holds(({ state }) => state === 'running'),
})

await defineKillMatrix('delete of a service', {
  prepare: make(),
  act: (ask) => ask('DELETE', app),
  holds: holds(({ status }) => status === 404),
  lastsMs,
})

await defineKillMatrix('deploy', {
  prepare: make(),
  act: (ask) => ask('POST', `${app}/deploy`, DEPLOY[1]),
  holds: holds(({ active, preview }) => runs(active, 'one') && runs(preview, 'two')),
})

await defineKillMatrix('deploy in a fork', {
  prepare: make(),
  act: (ask) => ask('POST', `${app}/deploy`, DEPLOY_FORK[1]),
  holds: holds(({ active, preview }) => runs(active, 'one') && runs(preview, 'two')),
})

await defineKillMatrix('promote', {
  prepare: make(DEPLOY),
  act: (ask) => ask('POST', `${app}/promote`),
  holds: holds(({ active, preview }) => runs(active, 'two') && preview === null),
  lastsMs,
})

await defineKillMatrix('promote from a fork', {
  prepare: make(DEPLOY_FORK),
  act: (ask) => ask('POST', `${app}/promote`),
  holds: holds(({ active, preview }) => runs(active, 'two') && preview === null),
  lastsMs,
})

await defineKillMatrix('rollback', {
  prepare: make(DEPLOY, ['promote']),
  act: (ask) => ask('POST', `${app}/rollback`),
  holds: holds(({ active }) => runs(active, 'one')),
  lastsMs,
})

await defineKillMatrix('discard', {
  prepare: make(DEPLOY_FORK),
  act: (ask) => ask('POST', `${app}/discard`),
  holds: holds(({ active, preview }) => runs(active, 'one') && preview === null),
  lastsMs,
})
