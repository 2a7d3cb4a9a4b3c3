import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { ProjectPolicies } from '../../../agent/drivers/pods/project-policies.ts'
import { policyName, projectPolicy } from '../../../agent/drivers/pods/spec.ts'
import { eventually } from '../../helpers/eventually.ts'
import { type FaultyKube, sendJson, sendStatus, startFaultyKube } from '../../helpers/pods/faulty-kube.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'

const INSTANCE = 'abcd1234'

let kube: FaultyKube
/** The policies of the cluster, by name. */
let stored: Map<string, unknown>
let used: Set<string>

beforeEach(async () => {
  kube = await startFaultyKube()
  stored = new Map()
  used = new Set()
  kube.answer(({ method, path, body }, response) => {
    const name = path.split('/networkpolicies/')[1]
    if (name === undefined) return sendJson(response, { items: [...stored.values()] })
    if (method === 'DELETE' && !stored.delete(name)) return sendStatus(response, 404, 'NotFound')
    if (method === 'PATCH') stored.set(name, body)
    sendJson(response, {})
  })
})

afterEach(() => kube.close())

const open = (): ProjectPolicies =>
  new ProjectPolicies({
    api: kube.api,
    instanceId: INSTANCE,
    isUsed: (project) => used.has(project),
    logger: silentLogger,
  })
const nameOf = (project: string): string => policyName(project, INSTANCE)

test('projects that come and go leave a bounded number of policies, and those with boxes keep theirs', async () => {
  const policies = open()
  used.add('stays')
  await policies.ensure('stays')
  for (let i = 0; i < 120; i++) {
    used.add(`p${i}`)
    await policies.ensure(`p${i}`)
    used.delete(`p${i}`)
  }
  used.add('last')
  await policies.ensure('last')
  await eventually(async () => stored.size <= 52)
  expect([nameOf('stays'), nameOf('last'), nameOf('p119')].every((name) => stored.has(name))).toBe(true)
  expect(stored.has(nameOf('p0'))).toBe(false)
})

test('a project whose policy was taken away gets it back with its next box', async () => {
  const policies = open()
  for (let i = 0; i < 60; i++) await policies.ensure(`p${i}`)
  await eventually(async () => !stored.has(nameOf('p0')))
  used.add('p0')
  await policies.ensure('p0')
  expect(stored.has(nameOf('p0'))).toBe(true)
})

test('policies that an earlier process left are taken away too', async () => {
  for (let i = 0; i < 80; i++) stored.set(nameOf(`old${i}`), projectPolicy(`old${i}`, INSTANCE))
  used.add('new')
  await open().ensure('new')
  await eventually(async () => stored.size === 51)
  expect(stored.has(nameOf('new'))).toBe(true)
})
