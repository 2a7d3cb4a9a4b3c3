import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from '@jest/globals'
import { createBtrfsChanges } from '../../../agent/drivers/pool/changes.ts'
import { createChangeWriter } from '../../../agent/drivers/pool/tree-changes-records.ts'
import { closeFd } from '../../../agent/lib/syscalls/descriptors.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openPoolLab, type PoolLab } from '../../helpers/pool/lab.ts'

let lab: PoolLab
let rootFd: number

beforeEach(async () => {
  lab = await openPoolLab(256 * 1024 ** 2)
  rootFd = openSync(join(lab.directory, 'run', 'pool'), 'r')
  await lab.pool.create('live', 'demo')
  for (const name of ['a', 'b', 'c', 'd']) await lab.freeze('live', name)
})

afterEach(async () => {
  closeSync(rootFd)
  await lab.close()
})

test('a concurrent repeat waits for the first search, and one share does not delay another', async () => {
  let begun = 0
  const gate = Promise.withResolvers<void>()
  const begin = async (_key: string, { fds }: { fds: readonly number[] }) => {
    begun += 1
    await gate.promise
    fds.forEach(closeFd)
    const receive = async () => createChangeWriter(0, 1024).finish()
    return { send: async () => undefined, receive, end: async () => undefined }
  }
  const mountPath = join(lab.directory, 'run', 'pool')
  const changes = createBtrfsChanges({ rootFd, mountPath, threads: { begin } as never })
  const page = (to: string, share: string) => changes.page({ from: 'a', to, after: null, limit: 1, share, keep: true })
  const all = Promise.all([page('b', 'one'), page('b', 'one'), page('c', 'one'), page('d', 'two')])
  await untilTrue(() => begun === 2)
  await sleep(50)
  expect(begun).toBe(2)
  gate.resolve()
  expect(await all).toHaveLength(4)
  expect(begun).toBe(3)
})
