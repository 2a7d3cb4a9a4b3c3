import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { ServiceError } from '../../shared/errors.ts'
import { claimOf } from '../contract/fleet/directory-suite.ts'
import { CALLER } from '../helpers/caller.ts'
import { type FleetCell, type FleetPlane, startFleetPlane } from '../helpers/pods/fleet-plane.ts'
import { until } from '../helpers/pods/weather.ts'
import { openVolumeService, type VolumeService } from '../helpers/volumes/service.ts'

// Uses 100,000 `Home` objects in a real etcd behind a real API server, and three model cells. A model cell is the real core over a real
// store and directory, with a simulated pool and runtime.

const HOMES = 100_000
const NAMES = 150
/** A cell lists all 100,000 records again, which takes minutes beside other work. */
const RELIST_MS = 600_000
const OUTCOMES = new Set(['made', 'name_taken', 'runtime_unavailable'])
const HOW = { waitMs: 5_000, ifMatch: null, idempotencyKey: null }

interface ModelCell {
  cell: string
  fleet: FleetCell
  core: VolumeService
}

let plane: FleetPlane
let cells: ModelCell[] = []

beforeAll(async () => {
  plane = await startFleetPlane()
  plane.install()
  await plane.seedHomes(HOMES)
  for (const cell of ['aa', 'bb', 'cc']) cells.push(await openModelCell(cell))
})

afterAll(async () => {
  for (const { core, fleet } of cells) {
    await core.close()
    fleet.close()
  }
  await plane?.close()
})

async function openModelCell(cell: string): Promise<ModelCell> {
  const fleet = await plane.connect(cell, { token: plane.register(cell) })
  const { directory } = fleet
  await directory.open()
  await directory.synced()
  const core = openVolumeService(() => Math.random() * 2, { homes: directory })
  await core.addBase()
  // The server needs a moment for a new cell.
  const mayClaim = async (): Promise<boolean> => {
    try {
      return (await directory.claim(claimOf(`first-of-${cell}`))).cell === cell
    } catch {
      return false
    }
  }
  await until(mayClaim, `${cell} may claim`)
  return { cell, fleet, core }
}

const seeded = (index: number) => ({ kind: 'box' as const, project: `many-${index % 100}`, name: `box-${index}` })
const create = async ({ core }: ModelCell, project: string, name: string): Promise<string> => {
  try {
    await core.boxes.create(CALLER, { project, body: { name } }, HOW)
    return 'made'
  } catch (error) {
    return error instanceof ServiceError ? error.code : String(error)
  }
}

describe('100,000 homes', () => {
  test('are all known to each cell', () => {
    for (const { fleet } of cells) {
      const missing = Array.from({ length: HOMES }, (_, i) => i).filter(
        (i) => fleet.directory.find(seeded(i))?.cell !== 'zz',
      )
      expect(missing).toEqual([])
    }
  })

  test('keep their names, whoever asks for them', async () => {
    for (const cell of cells) {
      const { project, name } = seeded(77_077)
      expect(await create(cell, project, name)).toBe('name_taken')
    }
  })

  test('do not keep racing cells from having one owner for each new name', async () => {
    const names = Array.from({ length: NAMES }, (_, i) => `raced-${i}`)
    const outcomes = await Promise.all(
      names.map((name) => Promise.all(cells.map((cell) => create(cell, 'demo', name)))),
    )
    // On a busy machine the API server may not answer in time. A name may then stay free for a while.
    for (const each of outcomes) {
      expect(each.filter((outcome) => outcome === 'made').length).toBeLessThanOrEqual(1)
      expect(each.filter((outcome) => !OUTCOMES.has(outcome))).toEqual([])
    }
    const made = names.filter((_, index) => outcomes[index]?.includes('made'))
    expect(made.length).toBeGreaterThan(NAMES / 2)
    for (const name of made) {
      const owners = await Promise.all(
        cells.map(async ({ core, cell }) => ((await core.store.boxes.get('demo', name)) ? cell : '')),
      )
      const [owner] = owners.filter((cell) => cell !== '')
      for (const { fleet } of cells)
        await until(
          () => fleet.directory.find({ kind: 'box', project: 'demo', name })?.cell === owner,
          `${name} is known`,
        )
    }
  })

  test('are known again to a cell whose history was compacted while others changed', async () => {
    const [first, second] = cells as [ModelCell, ModelCell]
    await plane.stopServer()
    await plane.compact()
    await plane.startServer()
    await until(async () => (await create(second, 'demo', 'later')) === 'made', 'names are claimed again')
    await until(
      () => first.fleet.directory.find({ kind: 'box', project: 'demo', name: 'later' }) !== null,
      'the change is seen',
      RELIST_MS,
    )
    const known = Array.from({ length: HOMES }, (_, i) => i).filter(
      (i) => first.fleet.directory.find(seeded(i)) !== null,
    )
    expect(known).toHaveLength(HOMES)
  }, 900_000)
})
