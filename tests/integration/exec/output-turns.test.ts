import { expect, test } from '@jest/globals'
import { createExecOutputs } from '../../../agent/drivers/exec/outputs.ts'
import type { LiveOutput } from '../../../agent/ports/exec/outputs.ts'
import { newId } from '../../../shared/ids.ts'
import { openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { BOX, CAT, deployment, startStreamLab, writePieces } from '../../helpers/exec/stream-lab.ts'

const MIB = 1024 ** 2
const LOUD = 24
/**
 * The project with `LOUD` writers may write at most this many times as much as the project with one. Without turns, it writes `LOUD` times
 * as much.
 */
const FAIR = 8

/** Waits until the calm count has grown by `by`. Returns the growth of the loud count in that time. */
async function meanwhile(calm: () => number, loud: () => number, by: number): Promise<number> {
  const [first, loudBefore] = [calm(), loud()]
  await untilTrue(() => calm() >= first + by)
  return loud() - loudBefore
}

test('output of many commands of one project that nobody reads leaves another its part', async () => {
  const lab = await openOciLab()
  const boxes = ['box_loud', 'box_calm']
  try {
    for (const box of boxes) await lab.runtime.start(lab.spec(box))
    // Low enough that even a busy machine writes more.
    const unread = { perSecond: 8 * MIB, burst: MIB }
    const outputs = createExecOutputs({ directory: `${lab.home}/run/execs`, keptBytes: MIB, unread })
    const begin = async (project: string): Promise<LiveOutput> => {
      const boxId = `box_${project}`
      const accounts = [`box ${boxId}`, `project ${project}`]
      const request = { command: ['cat', '/dev/zero'], cwd: '/', environment: {}, user: null, accounts }
      const key = { boxId, execId: newId('exe', Date.now()), project }
      return outputs.collect(key, await lab.runtime.exec(boxId, request))
    }
    const loud = await Promise.all(Array.from({ length: LOUD }, () => begin('loud')))
    const calm = [await begin('calm')]
    const written = (all: LiveOutput[]) => () => all.reduce((sum, each) => sum + each.totals().stdout, 0)
    // Bytes that each project may write at once.
    await untilTrue(() => written(calm)() > 2 * MIB && written(loud)() > 2 * MIB)
    expect((await meanwhile(written(calm), written(loud), 8 * MIB)) / (8 * MIB)).toBeLessThan(FAIR)
  } finally {
    for (const box of boxes) await lab.runtime.stop(box, { graceMs: 0 })
    await lab.close()
    await untilGone(lab)
  }
})

test('output that is read by many clients of one project leaves another its part', async () => {
  const lab = await startStreamLab()
  try {
    const join = async (project: string): Promise<{ bytes: number }> => {
      const token = await deployment.mint({ jti: `tok_${project}`, projects: [project], permissions: ['exec'] })
      const { client, command } = await lab.join(CAT.replace(BOX, `/v1/projects/${project}/boxes/web`), { token })
      const taken = { bytes: 0 }
      client.socket.removeAllListeners('message').on('message', (data: Buffer) => void (taken.bytes += data.length))
      void writePieces(command.stdout, Number.POSITIVE_INFINITY)
      return taken
    }
    const loud: { bytes: number }[] = []
    for (let i = 0; i < LOUD; i++) loud.push(await join('loud'))
    const calm = await join('calm')
    const loudBytes = (): number => loud.reduce((sum, { bytes }) => sum + bytes, 0)
    expect((await meanwhile(() => calm.bytes, loudBytes, 32 * MIB)) / (32 * MIB)).toBeLessThan(FAIR)
  } finally {
    await lab.close()
  }
})
