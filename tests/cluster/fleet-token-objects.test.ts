import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { type FleetKeys, openFleetKeys } from '../../agent/compose/fleet-keys.ts'
import { openSharedKeys } from '../../agent/drivers/fleet/shared-keys.ts'
import { createKubeTokens, type KubeTokens } from '../../agent/drivers/fleet/tokens-kube.ts'
import { type KeyFiles, openKeyFiles, readKeys } from '../../agent/lib/disk/key-files.ts'
import { collectViews, defineFleetTokensSuite, tokenOf } from '../contract/fleet/tokens-suite.ts'
import { type FleetCell, type FleetPlane, startFleetPlane } from '../helpers/pods/fleet-plane.ts'
import { succeed } from '../helpers/pods/kubectl.ts'
import { until } from '../helpers/pods/weather.ts'
import { silentLogger } from '../helpers/silent-logger.ts'

// Tests token objects and the Secret of the keys. The API server and etcd are stopped and restored. There is no node.

let plane: FleetPlane
let cells: { aa: FleetCell; bb: FleetCell }

beforeAll(async () => {
  plane = await startFleetPlane()
  plane.install()
  const connect = (cell: string): Promise<FleetCell> => plane.connect(cell, { token: plane.register(cell) })
  cells = { aa: await connect('aa'), bb: await connect('bb') }
  // The server needs a moment for new kinds and policies.
  const { tokens } = openTokens('aa')
  await until(
    () =>
      tokens.publish(tokenOf()).then(
        () => true,
        () => false,
      ),
    'aa may publish',
  )
})

afterAll(async () => {
  for (const cell of Object.values(cells ?? {})) cell.close()
  await plane?.close()
})

const openTokens = (cell: 'aa' | 'bb'): { tokens: KubeTokens } => ({
  tokens: createKubeTokens({ api: cells[cell].api, cell }),
})

defineFleetTokensSuite('kube', async () => {
  const [aa, bb] = [openTokens('aa').tokens, openTokens('bb').tokens]
  return {
    aa,
    bb,
    close: async () => {
      for (const tokens of [aa, bb]) tokens.close()
    },
  }
})

describe('tokens', () => {
  test('of a later version keep what this one knows of', async () => {
    const { tokens } = openTokens('aa')
    const token = tokenOf()
    await tokens.publish(token)
    const permissions = ['read', 'fly']
    const object = { ...tokenOf(), permissions } as never
    await tokens.publish(object)
    expect((await tokens.read((object as { id: string }).id))?.token.permissions).toEqual(['read'])
  })

  test('are told again after an etcd was put back to the past', async () => {
    const [here, there] = [openTokens('aa').tokens, openTokens('bb').tokens]
    const [before, after] = [tokenOf(), tokenOf()]
    await here.publish(before)
    await plane.stopServer()
    await plane.save()
    await plane.startServer()
    const seen = collectViews()
    await there.follow(seen)
    await here.publish(after)
    await here.revoke({ token: before.id, revokedAt: Date.now(), until: null, cell: 'aa' })
    await until(() => seen.tokens.known.has(after.id) && seen.revocations.known.has(before.id), 'both are seen')
    await plane.stopServer()
    await expect(here.publish(tokenOf())).rejects.toMatchObject({ code: 'runtime_unavailable' })
    await expect(there.read(after.id)).rejects.toMatchObject({ code: 'runtime_unavailable' })
    await plane.restore()
    await plane.startServer()
    await until(() => !seen.tokens.known.has(after.id) && !seen.revocations.known.has(before.id), 'they are gone')
    expect(seen.tokens.known.get(before.id)).toEqual(before)
    there.close()
  })
})

describe('keys', () => {
  let directory: string
  const clear = (): void =>
    void succeed(
      plane.kubectl('-n', 'boxyard-system', 'patch', 'secret', 'boxyard-keys', '--type=merge', '-p', '{"data":null}'),
    )

  beforeEach(() => {
    clear()
    directory = mkdtempSync(join(tmpdir(), 'boxyard-fleet-keys-'))
  })

  afterEach(() => rmSync(directory, { recursive: true }))

  const open = (name: string, cell: 'aa' | 'bb'): { dataDir: string; files: KeyFiles; keys: FleetKeys } => {
    const dataDir = join(directory, name)
    const files = openKeyFiles(dataDir, { now: Date.now, isExclusive: true })
    const shared = openSharedKeys(cells[cell].api)
    return { dataDir, files, keys: openFleetKeys({ dataDir, files, shared, logger: silentLogger }) }
  }
  const kidsOf = (dataDir: string): string[] => readKeys(dataDir).tokens.keys.map(({ kid }) => kid)

  test('of the first of racing agents become those of all', async () => {
    const all = Array.from({ length: 6 }, (_, index) => open(`cell-${index}`, index % 2 === 0 ? 'aa' : 'bb'))
    const own = all.map(({ dataDir }) => readKeys(dataDir).channel.agent_id)
    const taken = await Promise.all(all.map(({ keys }) => keys.exchange()))
    expect(taken.filter((each) => !each)).toHaveLength(1)
    const winner = own[taken.indexOf(false)]
    for (const { keys } of all) await keys.exchange()
    // Each cell verifies the backups of all cells.
    expect(readKeys(all[0]?.dataDir ?? '').backups.keys).toHaveLength(6)
    for (const { dataDir, files } of all) {
      expect(readKeys(dataDir)).toEqual({ ...readKeys(all[0]?.dataDir ?? ''), generation: 1 })
      // This also holds in the process that had already read its own keys.
      expect([files.channel().agent_id, files.signing()]).toEqual([winner, files.tokens()])
      expect(readFileSync(join(dataDir, 'keys/token-public.json'), 'utf8')).not.toContain('"d"')
    }
  })

  test('that one cell changes are followed by all, and are verified before they sign', async () => {
    const [here, there] = [open('here', 'aa'), open('there', 'bb')]
    await here.keys.exchange()
    let told = 0
    await there.keys.follow(async () => {
      told += 1
    })
    expect([kidsOf(there.dataDir), told]).toEqual([kidsOf(here.dataDir), 1])
    const [old] = kidsOf(here.dataDir)
    const rotated = here.keys.change('token', 'rotate')
    await until(() => kidsOf(there.dataDir).length === 2, 'the next key is there')
    expect(kidsOf(there.dataDir)[0]).toBe(old)
    await rotated
    await until(() => kidsOf(there.dataDir)[0] !== old, 'it signs')
    expect(kidsOf(there.dataDir)).toEqual(kidsOf(here.dataDir))
    await here.keys.change('channel', 'rotate')
    await here.keys.change('token', 'drop-old')
    await until(() => kidsOf(there.dataDir).length === 1, 'the old one is gone')
    expect(readKeys(there.dataDir)).toEqual(readKeys(here.dataDir))
  })

  test('that two change at once: one is told', async () => {
    const [here, there] = [open('here', 'aa'), open('there', 'bb')]
    await here.keys.exchange()
    await there.keys.exchange()
    const outcomes = await Promise.allSettled([
      ...Array.from({ length: 4 }, () => here.keys.change('token', 'prepare')),
      ...Array.from({ length: 4 }, () => there.keys.change('channel', 'drop-old')),
    ])
    const refused = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [String(outcome.reason)] : []))
    for (const each of refused) expect(each).toMatch(/Another agent is changing the keys of the fleet/)
    await here.keys.exchange()
    await there.keys.exchange()
    expect(readKeys(there.dataDir)).toEqual(readKeys(here.dataDir))
    expect(readKeys(here.dataDir).generation).toBe(1 + outcomes.length - refused.length)
  })

  test('that an etcd has lost, or has of the past only, are put back by a cell that knows them', async () => {
    const [here, there] = [open('here', 'aa'), open('there', 'bb')]
    await here.keys.exchange()
    await there.keys.follow(async () => undefined)
    await here.keys.change('token', 'prepare')
    await until(() => kidsOf(there.dataDir).length === 2, 'the change is followed')
    const fresh = open('fresh', 'aa')
    clear()
    await until(async () => (await openSharedKeys(cells.aa.api).read()).keys !== null, 'they are there again')
    expect(await fresh.keys.exchange()).toBe(true)
    await here.keys.exchange()
    expect(readKeys(fresh.dataDir)).toEqual(readKeys(here.dataDir))
  })

  test('that are not well-formed are refused by name, and change no file', async () => {
    const { dataDir, keys } = open('here', 'aa')
    const before = readKeys(dataDir)
    const secret = ['-n', 'boxyard-system', 'secret', 'boxyard-keys']
    succeed(plane.kubectl('patch', ...secret, '--type=merge', '-p', '{"stringData":{"channel.json":"{}"}}'))
    await expect(keys.exchange()).rejects.toThrow('channel.json of the Secret boxyard-keys has no "agent_id".')
    expect(readKeys(dataDir)).toEqual(before)
  })
})
