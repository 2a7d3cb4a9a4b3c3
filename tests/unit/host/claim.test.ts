import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import {
  chooseInstance,
  claimInstance,
  type HostClaim,
  type InstanceFacts,
  releaseInstance,
} from '../../../agent/drivers/network/claim.ts'

const MINE: HostClaim = { instanceId: 'mine', dataDir: '/data/mine', bootId: 'now', pid: 1, startTicks: 1 }
const OTHERS: HostClaim = { instanceId: 'other', dataDir: '/data/other', bootId: 'now', pid: 2, startTicks: 2 }
const FREE: InstanceFacts = { claim: null, isAlive: false, isHeld: false, isLent: false }
const HELD: InstanceFacts = { claim: OTHERS, isAlive: true, isHeld: true, isLent: false }

describe('chooseInstance', () => {
  test.each<[string, InstanceFacts[], number | null]>([
    ['takes the first free number', [FREE, FREE], 0],
    ['passes by what another holds', [HELD, FREE], 1],
    ['takes its own again, even if it is in use', [FREE, { ...HELD, claim: MINE }], 1],
    [
      'takes its own again after a reboot',
      [FREE, { ...HELD, claim: { ...MINE, bootId: 'before' }, isAlive: false }],
      1,
    ],
    ['does not take a copied data directory for its own', [{ ...HELD, claim: { ...MINE, dataDir: '/copy' } }, FREE], 1],
    ['takes over the claim of another boot', [{ ...HELD, claim: { ...OTHERS, bootId: 'before' }, isAlive: false }], 0],
    ['takes over a claim whose agent or data directory is gone', [{ ...HELD, isAlive: false, isHeld: false }], 0],
    ['leaves a claim alone while its boxes live', [{ ...HELD, isHeld: false }], null],
    ['leaves unclaimed boxes alone', [{ ...FREE, isAlive: true }], null],
    ['keeps off ids that are lent to others', [{ ...FREE, isLent: true }, FREE], 1],
    ['leaves a number of its own whose ids were lent since', [{ ...HELD, claim: MINE, isLent: true }, FREE], 1],
  ])('%s', (_, facts, k) => expect(chooseInstance(facts, MINE)).toBe(k))
})

describe('claimInstance', () => {
  let directory: string
  let dataDir: string
  beforeEach(() => {
    dataDir = mkdtempSync('/tmp/boxyard-claim-')
    directory = `${dataDir}/run/hosts`
  })
  afterEach(() => rmSync(dataDir, { recursive: true }))

  test('gives instances that start at once separate numbers, and each its own again', async () => {
    const ids = ['one', 'two', 'three', 'four']
    const numbers = await Promise.all(ids.map((instanceId) => claimInstance(directory, { instanceId, dataDir })))
    expect(new Set(numbers).size).toBe(4)
    expect(await Promise.all(ids.map((instanceId) => claimInstance(directory, { instanceId, dataDir })))).toEqual(
      numbers,
    )
  })

  test('takes over claims half written in a crash, and those of another boot', async () => {
    const first = await claimInstance(directory, { instanceId: 'one', dataDir })
    writeFileSync(`${directory}/${first}`, '{"instanceId": "o')
    expect(await claimInstance(directory, { instanceId: 'two', dataDir })).toBe(first)
    const claim = JSON.parse(readFileSync(`${directory}/${first}`, 'utf8')) as HostClaim
    writeFileSync(`${directory}/${first}`, JSON.stringify({ ...claim, bootId: 'before' }))
    expect(await claimInstance(directory, { instanceId: 'three', dataDir })).toBe(first)
  })

  test('takes over the claim of an agent that is gone, though its data directory is there', async () => {
    const first = await claimInstance(directory, { instanceId: 'one', dataDir })
    const claim = JSON.parse(readFileSync(`${directory}/${first}`, 'utf8')) as HostClaim
    expect(await claimInstance(directory, { instanceId: 'two', dataDir })).not.toBe(first)
    writeFileSync(`${directory}/${first}`, JSON.stringify({ ...claim, startTicks: claim.startTicks - 1 }))
    expect(await claimInstance(directory, { instanceId: 'three', dataDir })).toBe(first)
  })

  test('is undone by its owner only, and leaves nothing behind', async () => {
    const one = await claimInstance(directory, { instanceId: 'one', dataDir })
    const two = await claimInstance(directory, { instanceId: 'two', dataDir })
    await releaseInstance(directory, one, 'two')
    expect(readdirSync(directory)).toContain(String(one))
    await Promise.all([releaseInstance(directory, one, 'one'), releaseInstance(directory, two, 'two')])
    expect(existsSync(directory)).toBe(false)
  })
})
