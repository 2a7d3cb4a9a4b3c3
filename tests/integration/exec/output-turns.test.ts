import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createExecOutputs } from '../../../agent/drivers/exec/outputs.ts'
import type { LiveOutput } from '../../../agent/ports/exec/outputs.ts'
import { newId } from '../../../shared/ids.ts'
import { type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { BOX, CAT, deployment, startStreamLab, writePieces } from '../../helpers/exec/stream-lab.ts'

const MIB = 1024 ** 2
const LOUD = 24
/** What all of one project take at most of what the one of another takes, where the kernel gives each of 25 writers as much; without turns it is LOUD. */
const FAIR = 12

/** Waits until a count has grown by `by`, and returns by what the other has grown meanwhile. */
async function meanwhile(calm: () => number, loud: () => number, by: number): Promise<number> {
  const [first, loudBefore] = [calm(), loud()]
  await untilTrue(() => calm() >= first + by)
  return loud() - loudBefore
}

describe('output that nobody reads', () => {
  let lab: OciLab

  beforeEach(async () => {
    lab = await openOciLab()
    for (const box of ['box_loud', 'box_calm']) await lab.runtime.start(lab.spec(box))
  })

  afterEach(async () => {
    for (const box of ['box_loud', 'box_calm']) await lab.runtime.stop(box, { graceMs: 0 })
    await lab.close()
    await untilGone(lab)
  })

  const requestOf = (project: string) => ({
    ...{ command: ['cat', '/dev/zero'], cwd: '/', environment: {}, user: null },
    accounts: [`box box_${project}`, `project ${project}`],
  })
  const outputsOf = () => createExecOutputs({ directory: `${lab.home}/run/execs`, keptBytes: 8 * MIB })
  const written = (outputs: LiveOutput[]) => () => outputs.reduce((sum, each) => sum + each.totals().stdout, 0)
  const share = async (begin: (project: string) => Promise<LiveOutput>): Promise<number> => {
    const loud = await Promise.all(Array.from({ length: LOUD }, () => begin('loud')))
    const calm = [await begin('calm')]
    // What each may write at once.
    await untilTrue(() => written(calm)() > 10 * MIB && written(loud)() > 10 * MIB)
    return (await meanwhile(written(calm), written(loud), 32 * MIB)) / (32 * MIB)
  }

  test('of many detached commands of one project leaves another its part', async () => {
    const outputs = outputsOf()
    const ratio = await share(async (project) => {
      const key = { boxId: `box_${project}`, execId: newId('exe', Date.now()) }
      const request = { ...requestOf(project), stdin: Buffer.alloc(0), timeoutMs: null }
      await lab.runtime.execDetached(key.boxId, key.execId, request)
      return outputs.follow(key)
    })
    expect(ratio).toBeLessThan(FAIR)
  })
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
