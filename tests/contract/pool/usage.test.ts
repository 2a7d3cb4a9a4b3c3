import { randomBytes } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { searchTree } from '../../../agent/drivers/pool/search.ts'
import { topSubvolumes } from '../../../agent/drivers/pool/subvolumes.ts'
import { createDice, type Dice } from '../../helpers/files/random-tree.ts'
import { openPoolLab, type PoolLab, shellAt } from '../../helpers/pool/lab.ts'
import { draw } from '../../helpers/sample.ts'

const MIB = 1024 * 1024
const KIB = 1024
let lab: PoolLab

beforeAll(async () => {
  lab = await openPoolLab(512 * MIB)
})

afterAll(() => lab.close())

function write(name: string, file: string, bytes: number): void {
  fs.writeFileSync(path.join(lab.pool.path(name), file), randomBytes(bytes))
  settle()
}

// Writes get space on disk only once they are synced.
function settle(): void {
  shellAt(path.dirname(lab.pool.path('any')), 'sync -f .')
}

async function usage(name: string): Promise<[size: number, unique: number] | null> {
  const [measured] = await lab.pool.measure([name], 'demo')
  return measured ? [measured.sizeBytes, measured.uniqueBytes] : null
}

async function destroyAll(): Promise<void> {
  for (const name of await lab.pool.list()) await lab.pool.destroy(name)
}

describe('the usage of a subvolume', () => {
  test('is all its own until it is copied, then only the unshared part', async () => {
    await lab.pool.create('live', 'demo')
    write('live', 'a', 64 * KIB)
    write('live', 'b', 32 * KIB)
    expect(await usage('live')).toEqual([96 * KIB, 96 * KIB])
    await lab.freeze('live', 'kept')
    expect(await usage('live')).toEqual([96 * KIB, 0])
    expect(await usage('kept')).toEqual([96 * KIB, 0])
    write('live', 'a', 16 * KIB)
    expect(await usage('live')).toEqual([48 * KIB, 16 * KIB])
    expect(await usage('kept')).toEqual([96 * KIB, 64 * KIB])
    await lab.pool.destroy('live')
    expect(await usage('kept')).toEqual([96 * KIB, 96 * KIB])
    expect(await usage('live')).toBeNull()
    await destroyAll()
  })

  test('is its size on disk: compressed, and without holes', async () => {
    await lab.pool.create('live', 'demo')
    fs.writeFileSync(path.join(lab.pool.path('live'), 'zeros'), Buffer.alloc(MIB, 'a'))
    shellAt(
      lab.pool.path('live'),
      'truncate -s 100M hole; truncate -s 10M sparse; printf x | dd of=sparse bs=1 seek=5000000 conv=notrunc 2>&1',
    )
    settle()
    const [size = 0, unique] = (await usage('live')) ?? []
    expect(size).toBeLessThan(100 * KIB)
    expect(size).toBeGreaterThan(4 * KIB)
    expect(unique).toBe(size)
    await destroyAll()
  })

  test('counts an extent once, even if many files share it', async () => {
    await lab.pool.create('live', 'demo')
    write('live', 'a', 64 * KIB)
    shellAt(lab.pool.path('live'), 'cp --reflink=always a b; ln a c')
    settle()
    expect(await usage('live')).toEqual([64 * KIB, 64 * KIB])
    await destroyAll()
  })

  test('is measured for several in one pass, with null for missing ones', async () => {
    await lab.pool.create('one', 'demo')
    write('one', 'a', 64 * KIB)
    await lab.freeze('one', 'two')
    write('one', 'b', 32 * KIB)
    expect(await lab.pool.measure(['two', 'absent', 'one', 'two'], 'demo')).toEqual([
      { sizeBytes: 64 * KIB, uniqueBytes: 0 },
      null,
      { sizeBytes: 96 * KIB, uniqueBytes: 32 * KIB },
      { sizeBytes: 64 * KIB, uniqueBytes: 0 },
    ])
    await destroyAll()
  })

  test('is measured by turns of the shares, and once for all who wait for the same', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `turn${index}`)
    for (const name of names) await lab.pool.create(name, 'demo')
    await lab.pool.create('other', 'demo')
    const order: string[] = []
    const measure = async (name: string, share: string) => {
      const usages = await lab.pool.measure([name], share)
      order.push(name)
      return usages
    }
    const loud = names.map((name) => measure(name, 'loud'))
    const [other, joined, ofLoud] = [measure('other', 'calm'), measure('turn5', 'calm'), loud[5]]
    await Promise.all([...loud, other])
    expect(order.indexOf('other')).toBeLessThan(3)
    expect(await joined).toBe(await ofLoud)
    await destroyAll()
  })

  test('is measured while other subvolumes are made, filled and destroyed', async () => {
    await lab.pool.create('base', 'demo')
    write('base', 'a', 256 * KIB)
    const names = Array.from({ length: 20 }, (_, index) => `busy${index}`)
    const work = Promise.all(
      names.map(async (name) => {
        await lab.copy('base', name)
        fs.writeFileSync(path.join(lab.pool.path(name), 'own'), randomBytes(64 * KIB))
        await lab.pool.destroy(name)
      }),
    )
    for (let round = 0; round < 10; round++) {
      const [base] = await lab.pool.measure(['base', ...names], 'demo')
      expect(base?.sizeBytes).toBe(256 * KIB)
    }
    await work
    await destroyAll()
  })
})

const SEEDS = Array.from({ length: 16 }, (_, index) => index + 1)

describe('pools that were used at random', () => {
  test.each(draw(SEEDS, 2))('have the usage that counting all extents gives: seed %i', async (seed) => {
    const random = createDice(seed)
    const names: string[] = []
    await lab.pool.create(`n${seed}_0`, 'demo')
    names.push(`n${seed}_0`)
    // Writes files far apart in the tree, so that a step does not rewrite the whole tree.
    tryAt(`n${seed}_0`, FILL)
    for (let step = 1; step <= 70; step++) {
      await actAtRandom(random, names, `n${seed}_${step}`)
      if (step % 14 !== 0) continue
      settle()
      const counted = countAll()
      expect(await measured(names)).toEqual(names.map((name) => counted.get(name)))
      for (const name of names.filter(() => random(3) === 0))
        expect(await measured([name])).toEqual([counted.get(name)])
    }
    await destroyAll()
  })
})

const measured = async (names: readonly string[]) =>
  (await lab.pool.measure(names, 'demo')).map((usage, index) => ({ name: names[index], ...usage }))

/** Makes one random change: a change that a service makes, or one of a few others. */
async function actAtRandom(random: Dice, names: string[], fresh: string): Promise<void> {
  const [name, other] = [pick(random, names), pick(random, names)]
  const file = `f${1 + random(20)}`
  switch (random(12)) {
    case 0:
    case 1:
      await lab.freeze(name, fresh)
      names.push(fresh)
      break
    case 2:
    case 3:
      await lab.copy(name, fresh)
      names.push(fresh)
      break
    case 4:
      if (names.length < 4) break
      await lab.pool.destroy(name)
      names.splice(names.indexOf(name), 1)
      break
    case 5:
      // A restore keeps the replaced subvolume read-only.
      await lab.pool.setReadOnly(name, true)
      break
    case 6:
    case 7:
      tryAt(name, `cp --reflink=always ${path.join(lab.pool.path(other), file)} g${random(4)}`)
      break
    case 8:
      tryAt(name, `dd if=/dev/urandom of=${file} bs=4096 count=1 seek=${random(8)} conv=notrunc status=none`)
      break
    case 9:
      tryAt(name, `rm -f f${1 + random(3)}* g*`)
      break
    default:
      tryAt(name, `head -c ${4096 * (1 + random(12))} /dev/urandom > ${file}`)
  }
  if (random(3) === 0) settle()
}

const FILL =
  'for i in $(seq 20); do head -c 8192 /dev/urandom > f$i; for j in $(seq 15); do head -c 1500 /dev/urandom > x$i-$j; done; done'

function pick(random: Dice, names: readonly string[]): string {
  return names[random(names.length)] as string
}

function tryAt(name: string, line: string): void {
  shellAt(lab.pool.path(name), `${line} 2> /dev/null || true`)
}

interface Counted {
  name: string
  sizeBytes: number
  uniqueBytes: number
}

/** Returns all extents of all subvolumes, found by reading every tree. */
function countAll(): Map<string, Counted> {
  const fd = fs.openSync(path.dirname(lab.pool.path('any')), 'r')
  const extents = new Map(topSubvolumes(fd).map(({ name, id }) => [name, extentsOf(fd, Number(id))]))
  fs.closeSync(fd)
  const holders = new Map<bigint, number>()
  for (const own of extents.values()) for (const place of own.keys()) holders.set(place, (holders.get(place) ?? 0) + 1)
  const sum = (entries: [bigint, number][]): number => entries.reduce((total, [, bytes]) => total + bytes, 0)
  return new Map(
    [...extents].map(([name, own]) => {
      const alone = [...own].filter(([place]) => holders.get(place) === 1)
      return [name, { name, sizeBytes: sum([...own]), uniqueBytes: sum(alone) }]
    }),
  )
}

function extentsOf(fd: number, treeId: number): Map<bigint, number> {
  const found = new Map<bigint, number>()
  const all = { treeId, minGeneration: 0, maxGeneration: Number.MAX_SAFE_INTEGER }
  const reading = searchTree(fd, all, ({ type, start, length }, buffer) => {
    if (type !== 108 || length !== 53) return
    const place = buffer.readBigUInt64LE(start + 21)
    if (place !== 0n) found.set(place, Number(buffer.readBigUInt64LE(start + 29)))
  })
  while (reading.next().done !== true);
  return found
}
