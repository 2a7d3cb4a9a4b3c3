import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { EdgeDecision } from '../../../agent/ports/edge/edge.ts'
import { ServiceError } from '../../../shared/errors.ts'
import {
  answerOf,
  type BackendLab,
  BOX_HOST,
  edgeRequest,
  openBackendLab,
  START,
  targetOf,
} from '../../helpers/edge/backend.ts'

let lab: BackendLab
let token: string

beforeEach(async () => {
  lab = await openBackendLab()
  token = (await lab.mint()).token
})

afterEach(() => lab.close())

const decide = (changed: Parameters<typeof edgeRequest>[0] = { token }): Promise<EdgeDecision> =>
  lab.backend.gate.decide(edgeRequest(changed))

async function refusalOf(changed?: Parameters<typeof edgeRequest>[0]): Promise<string> {
  const { status, body } = answerOf(await decide(changed))
  return `${status} ${(JSON.parse(body) as { code: string }).code}`
}

const rest = (how: Parameters<typeof targetOf>[0] = {}): void =>
  void lab.hosts.set(BOX_HOST, targetOf({ status: 'stopped', ...how }))
const run = (how: Parameters<typeof targetOf>[0] = {}): void =>
  void lab.hosts.set(BOX_HOST, targetOf({ wake: true, ...how }))

describe('a request for a stopped box', () => {
  test('starts it, and passes once its port takes connections', async () => {
    rest({ wake: true })
    lab.onResume(() => run())
    let looks = 0
    lab.look(() => (++looks < 4 ? 'Nothing listens at port 8080.' : null))
    expect(await decide()).toMatchObject({ kind: 'forward', route: { address: '10.1.0.2', port: 8080 } })
    expect([lab.resumed, looks]).toEqual([['web'], 4])
  })

  test('counts as use until the box runs', async () => {
    rest({ wake: true })
    const { id } = (lab.hosts.get(BOX_HOST) as { box: { id: string } }).box
    const seen: boolean[] = []
    lab.onResume(() => {
      seen.push(lab.activity.isInUse(id))
      run()
    })
    await decide()
    expect([...seen, lab.activity.isInUse(id)]).toEqual([true, false])
  })

  test('starts it once for concurrent requests', async () => {
    rest({ wake: true })
    lab.onResume(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      run()
    })
    const decisions = await Promise.all(Array.from({ length: 50 }, () => decide()))
    expect(new Set(decisions.map(({ kind }) => kind))).toEqual(new Set(['forward']))
    expect(lab.resumed).toEqual(['web'])
  })

  test.each([
    ['nobody', {}, '401 token_missing'],
    ['one with a wrong token', { token: 'x' }, '401 token_invalid'],
  ])('does not start a private one for %s', async (_who, changed, expected) => {
    rest({ wake: true })
    expect(await refusalOf(changed)).toBe(expected)
    rest()
    expect(await refusalOf(changed)).toBe(expected)
    expect(lab.resumed).toEqual([])
  })

  test('starts a public one for every client', async () => {
    rest({ wake: true, auth: 'public' })
    lab.onResume(() => run({ auth: 'public' }))
    expect(await decide({})).toMatchObject({ kind: 'forward' })
  })

  test('is refused if it became private meanwhile', async () => {
    rest({ wake: true, auth: 'public' })
    lab.onResume(() => run())
    expect(await refusalOf({})).toBe('401 token_missing')
  })

  test('is refused if waking is off, for a browser with a page', async () => {
    rest()
    expect(await refusalOf()).toBe('409 box_not_running')
    const page = answerOf(await decide({ token, browses: true }))
    expect([page.status, page.headers['content-type']]).toEqual([409, 'text/html; charset=utf-8'])
    expect(page.body).toContain('url_settings.wake')
    expect(lab.resumed).toEqual([])
  })

  test('is refused with the reason of a failed start, without figures for a public one', async () => {
    lab.onResume(() => {
      throw new ServiceError('quota_exceeded', 'The quota of project "demo" is exceeded: 4 of 4 cpus are in use.')
    })
    rest({ wake: true })
    expect(await refusalOf()).toBe('403 quota_exceeded')
    rest({ wake: true, auth: 'public' })
    const { body } = answerOf(await decide({}))
    expect(body).toContain('runtime_unavailable')
    expect(body).not.toContain('quota')
  })

  test('does not start one repeatedly that keeps stopping', async () => {
    rest({ wake: true })
    lab.onResume(() => rest({ wake: true }))
    expect(await refusalOf()).toBe('503 runtime_unavailable')
    expect(lab.resumed).toHaveLength(1)
  })

  test('does not retry a failed start at once', async () => {
    const failed = targetOf({ status: 'stopped', wake: true })
    const observed = { ...failed.box.observed, reason: 'failed' as const, since: START }
    lab.hosts.set(BOX_HOST, { ...failed, box: { ...failed.box, observed } })
    expect(await refusalOf()).toBe('503 runtime_unavailable')
    expect(lab.resumed).toEqual([])
    lab.pass(5_000)
    lab.onResume(() => run())
    expect(await decide()).toMatchObject({ kind: 'forward' })
  })
})

describe('a request for a box that is starting', () => {
  test('waits for a start, and starts nothing itself', async () => {
    lab.hosts.set(BOX_HOST, targetOf({ status: 'pending' }))
    let looks = 0
    const deciding = decide()
    lab.look(() => (++looks < 2 ? 'no' : null))
    setImmediate(() => run())
    expect(await deciding).toMatchObject({ kind: 'forward' })
    expect(lab.resumed).toEqual([])
  })

  test('waits for its port while another request does, though the box runs', async () => {
    lab.hosts.set(BOX_HOST, { ...targetOf({}), isHeld: true })
    let looks = 0
    lab.look(() => (++looks < 3 ? 'Nothing listens at port 8080.' : null))
    expect(await decide()).toMatchObject({ kind: 'forward' })
    expect([looks, lab.resumed]).toEqual([3, []])
  })

  test('is answered after 25 s that it does not run yet', async () => {
    lab.hosts.set(BOX_HOST, targetOf({ status: 'pending' }))
    expect(await refusalOf()).toBe('504 agent_timeout')
  })

  test('goes after 25 s to a port without a listener, which the edge reports', async () => {
    rest({ wake: true })
    lab.onResume(() => run())
    lab.look(() => 'Nothing listens at port 8080.')
    expect(await decide()).toMatchObject({ kind: 'forward' })
  })

  test('is not found once the box is deleted', async () => {
    rest({ wake: true })
    lab.onResume(() => void lab.hosts.delete(BOX_HOST))
    expect(await refusalOf()).toBe('404 box_not_found')
    rest({ wake: true })
    lab.onResume(() => {
      throw new ServiceError('box_not_found', 'No box named "web".')
    })
    expect(await refusalOf()).toBe('404 box_not_found')
  })

  test('waits for a restore, which does not start a stopped box', async () => {
    const restore = { snapshot: 'v0', root: 'sub_x', data: [] }
    const restored = (power: 'running' | 'stopped', wake: boolean) => {
      const target = targetOf({ status: 'pending', wake, restore })
      return { ...target, box: { ...target.box, desired: { power, generation: 1 } } }
    }
    lab.hosts.set(BOX_HOST, restored('running', false))
    expect(await refusalOf()).toBe('409 box_busy')
    lab.hosts.set(BOX_HOST, restored('stopped', false))
    expect(await refusalOf()).toBe('409 box_not_running')
    lab.hosts.set(BOX_HOST, restored('stopped', true))
    lab.onResume(() => run())
    setImmediate(() => rest({ wake: true }))
    expect(await decide()).toMatchObject({ kind: 'forward' })
  })

  test('is refused at once with faults that waiting cannot heal', async () => {
    lab.hosts.set(BOX_HOST, targetOf({ status: 'unknown' }))
    expect(await refusalOf()).toBe('503 runtime_unavailable')
    lab.hosts.set(BOX_HOST, { ...targetOf({}), service: 'db', at: null, route: null })
    expect(await refusalOf()).toBe('404 service_not_found')
  })
})
