import { expect } from '@jest/globals'
import type { BoxRecord } from '../../../agent/ports/store/boxes.ts'
import { untilTrue } from '../boxes/oci-lab.ts'
import type { VolumeService } from './service.ts'

/** Waits until the fake pool and boxes match the records, without leftovers of unfinished steps. Expects no violations. */
export async function expectAgreement({ store, world }: VolumeService): Promise<void> {
  let last: unknown
  const agrees = async (): Promise<boolean> => {
    const boxes: BoxRecord[] = []
    for await (const record of store.boxes.each()) boxes.push(record)
    const volumes = await store.volumes.all()
    const snapshots = await store.snapshots.all()
    const wanted = [...boxes.map(({ root }) => root), ...[...volumes, ...snapshots].map(({ subvolume }) => subvolume)]
    const running = boxes.filter(({ observed }) => observed.status === 'running')
    const pool = [...world.pool.keys()].filter((name) => !name.startsWith('bas_'))
    const recorded = running.map(({ id, mounts }) => [id, mounts.map((each) => `/pool/${each.subvolume}`).sort()])
    const seen = [...world.mounts].map(([id, mounts]) => [id, mounts.map(({ source }) => source).sort()])
    const current = boxes.flatMap(({ mounts }) =>
      mounts.map((each) => volumes.find(({ id }) => id === each.volumeId)?.subvolume === each.subvolume),
    )
    const sealed = snapshots.map(({ subvolume }) => world.pool.get(subvolume)?.isReadOnly)
    const bounds = volumes.map(({ subvolume, sizeGb }) => world.pool.get(subvolume)?.quotaBytes === sizeGb * 1024 ** 3)
    last = { pool: [pool.sort(), wanted.sort()], mounts: [seen.sort(), recorded.sort()], current, sealed, bounds }
    const isSame = (pair: unknown[]): boolean => JSON.stringify(pair[0]) === JSON.stringify(pair[1])
    const pairs = [
      [pool, wanted],
      [seen, recorded],
    ]
    return pairs.every(isSame) && [...current, ...sealed, ...bounds].every((each) => each === true)
  }
  await untilTrue(agrees).catch(() => {
    throw new Error(`records and world differ: ${JSON.stringify(last)}`)
  })
  expect(world.violations).toEqual([])
}
