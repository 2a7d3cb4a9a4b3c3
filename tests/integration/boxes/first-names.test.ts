import { expect, test } from '@jest/globals'
import type { Network } from '../../../agent/ports/boxes/network.ts'
import { execute, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

test('a box runs once its name server answers, so that its first program resolves names', async () => {
  const lab = await openOciLab()
  const network = lab.network as Network
  const ready = Promise.withResolvers<void>()
  const asked: string[] = []
  const namesReady = network.namesReady.bind(network)
  network.namesReady = (id) => {
    asked.push(id)
    return ready.promise
  }
  try {
    lab.makeRoot('box_first')
    let isStarted = false
    const starting = lab.runtime.start(lab.spec('box_first', { project: 'first' })).then(() => {
      isStarted = true
    })
    await untilTrue(() => asked.length > 0)
    await namesReady('box_first')
    await untilTrue(() => lab.runtime.list().then((boxes) => boxes.some(({ id }) => id === 'box_first')))
    expect(isStarted).toBe(false)
    ready.resolve()
    await starting
    // Connections to a port without a listener are refused.
    const { stdout } = await execute(lab.runtime, 'box_first', 'timeout 1 nc 169.254.1.53 53 </dev/null 2>&1')
    expect([asked, stdout]).toEqual([['box_first'], ''])
  } finally {
    ready.resolve()
    await lab.close()
    await untilGone(lab)
  }
})
