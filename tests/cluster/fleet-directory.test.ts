import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Directory, HomeClaim } from '../../agent/ports/fleet/directory.ts'
import { defineFleetBasesSuite } from '../contract/fleet/bases-suite.ts'
import { claimOf, defineCardSuite, defineDirectorySuite } from '../contract/fleet/directory-suite.ts'
import { type CuttableLine, openCuttableLine } from '../helpers/front/cuttable-line.ts'
import { type FleetCell, type FleetPlane, startFleetPlane } from '../helpers/pods/fleet-plane.ts'
import { succeed } from '../helpers/pods/kubectl.ts'
import { until } from '../helpers/pods/weather.ts'

// Uses its own API server and etcd, because the tests stop them. There is no node.

let plane: FleetPlane
/** Connection of the cell `aa`, which tests can cut. The cell `bb` has none. */
let line: CuttableLine
/** Tokens of the agents, each on its own node. */
let tokens: { aa: string; bb: string }
let cells: { aa: FleetCell; bb: FleetCell }
let here: Directory
let other: Directory
/** A cell that connected before the kinds existed. */
let early: FleetCell
let outcomesWithoutKinds: string[]
let faultsWithoutKinds: string[]

beforeAll(async () => {
  plane = await startFleetPlane()
  const adminToken = JSON.parse(admin('config', 'view', '--raw', '-o', 'json')).users[0].user.token
  early = await plane.connect('ee', { token: adminToken })
  await early.directory.open()
  outcomesWithoutKinds = await Promise.all([
    settled(early.directory.synced()),
    settled(early.directory.claim(claimOf('early'))),
    settled(early.directory.read(claimOf('early'))),
  ])
  faultsWithoutKinds = early.api.faults().map(({ code }) => code)
  plane.install()
  tokens = { aa: plane.register('aa'), bb: plane.register('bb') }
  line = await openCuttableLine('127.0.0.1', plane.port)
  cells = {
    aa: await plane.connect('aa', { token: tokens.aa, port: line.port }),
    bb: await plane.connect('bb', { token: tokens.bb }),
  }
  here = cells.aa.directory
  other = cells.bb.directory
  // The server needs a moment for new kinds and policies.
  for (const [name, { directory }] of Object.entries(cells)) {
    await directory.open()
    await until(async () => (await settled(directory.synced())) === 'done', `${name} follows the homes`)
    const claim = claimOf(`first-of-${name}`)
    await until(async () => (await settled(directory.claim(claim))) === 'done', `${name} may claim`)
  }
})

afterAll(async () => {
  for (const cell of [early, ...Object.values(cells ?? {})]) cell?.close()
  await line?.close()
  await plane?.close()
})

const admin = (...args: string[]): string => succeed(plane.kubectl('--namespace=boxyard', ...args)).stdout
const settled = async (what: Promise<unknown>): Promise<string> =>
  what.then(
    () => 'done',
    (error: unknown) => String((error as { code?: unknown }).code),
  )
const claimAll = (directory: Directory, claims: readonly HomeClaim[]): Promise<unknown> =>
  Promise.all(claims.map((claim) => directory.claim(claim)))
const seenBy = (directory: Directory, claim: HomeClaim, cell: string | null): Promise<unknown> =>
  until(() => (directory.find(claim)?.cell ?? null) === cell, `${claim.name} is seen at ${String(cell)}`)

test('a cluster without the kinds is the fault, and bringing them heals', async () => {
  expect(outcomesWithoutKinds).toEqual(['runtime_unavailable', 'runtime_unavailable', 'runtime_unavailable'])
  expect(faultsWithoutKinds).toContain('kubernetes_kind')
  await until(async () => (await settled(early.directory.synced())) === 'done', 'the homes are followed')
  const claim = claimOf('early')
  expect(await early.directory.claim(claim)).toEqual(await early.directory.read(claim))
  await until(() => early.api.faults().length === 0, 'nothing is wrong')
})

for (const defineSuite of [defineDirectorySuite, defineCardSuite])
  defineSuite('kube', async () => {
    const cell = await plane.connect('aa', { token: tokens.aa })
    await cell.directory.open()
    return { directory: cell.directory, close: async () => cell.close() }
  })

defineFleetBasesSuite('kube', async () => {
  const cells = [
    await plane.connect('aa', { token: tokens.aa }),
    await plane.connect('bb', { token: tokens.bb }),
  ] as const
  for (const { directory } of cells) await directory.open()
  const [aa, bb] = cells
  return {
    ...{ aa: aa.directory.bases, bb: bb.directory.bases },
    close: async () => {
      for (const cell of cells) cell.close()
    },
  }
})

describe('two cells', () => {
  test('that race for names: each name has one, and both find the same', async () => {
    const names = Array.from({ length: 40 }, (_, index) => `race-${index}`)
    const both = names.map((name) => ({ mine: claimOf(name), theirs: claimOf(name) }))
    const outcomes = await Promise.all(
      both.map(({ mine, theirs }) => Promise.all([settled(here.claim(mine)), settled(other.claim(theirs))])),
    )
    for (const [index, outcome] of outcomes.entries()) {
      expect([...outcome].sort()).toEqual(['done', 'name_taken'])
      const winner = outcome[0] === 'done' ? 'aa' : 'bb'
      const { mine } = both[index] ?? { mine: claimOf('none') }
      // The loser has just read which cell owns it.
      expect([here.find(mine)?.cell, other.find(mine)?.cell]).toEqual([winner, winner])
    }
  })

  test('see what the other wrote, and read it before that', async () => {
    const claim = claimOf('told', { createdBy: 'cd'.repeat(32) })
    const home = await other.claim(claim)
    expect(await here.read(claim)).toEqual(home)
    expect(here.find(claim)).toEqual(home)
    await other.release(claim, claim.uid)
    await seenBy(here, claim, null)
    expect(await here.read(claim)).toBeNull()
  })

  test('give up nothing of each other', async () => {
    const claim = claimOf('kept')
    await other.claim(claim)
    await here.release(claim, claim.uid)
    await other.release(claim, 'box_another')
    expect(await here.read(claim)).toMatchObject({ cell: 'bb' })
    expect(await here.claim(claim)).toMatchObject({ cell: 'bb', epoch: 1 })
  })

  test('see a home that moves, or whose cell is lost', async () => {
    const claim = claimOf('mover')
    await here.claim(claim)
    admin('patch', 'home/box.demo.mover', '--type=merge', '-p', '{"spec":{"cell":"bb","epoch":2,"phase":"Lost"}}')
    const moved = { cell: 'bb', epoch: 2, phase: 'Lost', createdBy: null }
    await seenBy(here, claim, 'bb')
    await seenBy(other, claim, 'bb')
    expect([here.find(claim), other.find(claim)]).toEqual([moved, moved])
  })

  test('find each other as they last told of themselves', async () => {
    const urls = { channelUrl: 'http://10.0.0.1:8090', dataUrl: 'http://10.0.0.1:8091', edgeAddress: '10.0.0.1:8081' }
    const untold = { region: null, free: null, warm: 0, heartbeatAt: null, isReady: false, isDraining: false }
    const bb = { cell: 'bb', node: 'node-bb', ...urls, ...untold }
    expect(here.findCell('bb')).toEqual(bb)
    const tell = (status: object): string =>
      admin('patch', 'agent/bb', '--subresource=status', '--type=merge', '-p', JSON.stringify({ status }))
    tell({ ready: true, draining: true })
    await until(() => here.findCell('bb')?.isDraining === true, 'the change is seen')
    expect(here.findCell('bb')).toEqual({ ...bb, isReady: true, isDraining: true })
    plane.register('cc')
    await until(() => here.findCell('cc') !== null, 'the new one is seen')
    admin('delete', 'agent/cc')
    await until(() => here.findCell('cc') === null, 'its end is seen')
  })
})

describe('a fault', () => {
  test('that loses the answer to a claim does not make it twice', async () => {
    const claim = claimOf('lost-answer')
    await here.read(claim)
    line.mute()
    const claimed = here.claim(claim)
    const uid = await until(
      () => plane.kubectl('-n', 'boxyard', 'get', 'home/box.demo.lost-answer', '-o', 'jsonpath={.metadata.uid}').stdout,
      'the claim has arrived',
    )
    line.drop()
    expect(await claimed).toMatchObject({ cell: 'aa', epoch: 1 })
    expect(admin('get', 'home/box.demo.lost-answer', '-o', 'jsonpath={.metadata.uid} {.metadata.generation}')).toBe(
      `${uid} 1`,
    )
  })

  test('that cuts the watch loses no change', async () => {
    const [stays, goes, comes] = [claimOf('stays'), claimOf('goes'), claimOf('comes')]
    await claimAll(other, [stays, goes])
    await Promise.all([stays, goes].map((claim) => seenBy(here, claim, 'bb')))
    await line.cut('refuse')
    await other.release(goes, goes.uid)
    await other.claim(comes)
    expect(here.find(goes)?.cell).toBe('bb')
    await expect(here.claim(claimOf('cut-off'))).rejects.toMatchObject({ code: 'runtime_unavailable' })
    await line.mend()
    await seenBy(here, comes, 'bb')
    expect([here.find(goes), here.find(stays)?.cell]).toEqual([null, 'bb'])
  })

  test('in which the server forgets its events has the homes listed again', async () => {
    const [goes, comes] = [claimOf('forgotten'), claimOf('unheard')]
    await other.claim(goes)
    await seenBy(here, goes, 'bb')
    const version = admin('get', 'home/box.demo.forgotten', '-o', 'jsonpath={.metadata.resourceVersion}')
    // Frozen, the connection stays open at this end, so the cell resumes its watch only at the end.
    line.freeze()
    await other.release(goes, goes.uid)
    await other.claim(comes)
    await plane.stopServer()
    await plane.compact()
    await plane.startServer()
    const path = '/apis/boxyard.dev/v1alpha1/namespaces/boxyard/homes'
    const resumed = plane.kubectl('get', '--raw', `${path}?watch=1&timeoutSeconds=1&resourceVersion=${version}`)
    expect(`${resumed.stdout}${resumed.stderr}`).toMatch(/too old resource version/)
    await line.mend()
    await seenBy(here, comes, 'bb')
    expect(here.find(goes)).toBeNull()
  })

  test('of the server stops claims alone, which are made once it is back', async () => {
    const [known, late, given] = [claimOf('known'), claimOf('late'), claimOf('given')]
    await claimAll(here, [known, given])
    await plane.stopServer()
    expect(here.find(known)).toMatchObject({ cell: 'aa' })
    expect(here.findCell('bb')).toMatchObject({ node: 'node-bb' })
    const refused = await Promise.all([
      settled(here.claim(late)),
      settled(here.release(given, given.uid)),
      settled(here.read(known)),
    ])
    expect(refused).toEqual(['runtime_unavailable', 'runtime_unavailable', 'runtime_unavailable'])
    expect([here.find(known)?.cell, here.find(given)?.cell, here.find(late)]).toEqual(['aa', 'aa', null])
    await plane.startServer()
    expect(await here.claim(late)).toMatchObject({ cell: 'aa' })
    await here.release(given, given.uid)
    await seenBy(other, late, 'aa')
    await seenBy(other, given, null)
  })

  test('that puts etcd back to the past leaves no name that it does not have', async () => {
    const before = claimOf('before')
    await other.claim(before)
    await plane.stopServer()
    await plane.save()
    await plane.startServer()
    const after = Array.from({ length: 20 }, (_, index) => claimOf(`after-${index}`))
    await claimAll(other, after)
    await other.release(before, before.uid)
    for (const claim of after) await seenBy(here, claim, 'bb')
    await plane.stopServer()
    await plane.restore()
    await plane.startServer()
    for (const directory of [here, other]) {
      await seenBy(directory, before, 'bb')
      for (const claim of after) await seenBy(directory, claim, null)
    }
    // Its version is lower than the one that the cells had seen.
    const [again] = after
    if (again === undefined) throw new Error('There is no claim.')
    await other.claim(again)
    expect(other.find(again)).toMatchObject({ cell: 'bb' })
    await seenBy(here, again, 'bb')
  })
})

test('a cell that comes later lists all homes, in several pages', async () => {
  const claims = Array.from({ length: 2_100 }, (_, index) => claimOf(`many-${index}`))
  for (let from = 0; from < claims.length; from += 50) await claimAll(other, claims.slice(from, from + 50))
  const late = await plane.connect('aa', { token: tokens.aa })
  await late.directory.open()
  await late.directory.synced()
  expect(claims.filter((claim) => late.directory.find(claim)?.cell !== 'bb')).toEqual([])
  // Two pages of `homes`, one of agents and one of bases, and three watches.
  expect(late.api.requestCount()).toBe(7)
  late.close()
})
