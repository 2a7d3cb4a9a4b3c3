import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from '@jest/globals'
import type { BoxSpec } from '../../../agent/ports/boxes/runtime.ts'
import type { StarterTask } from '../../fixtures/oci-starter.ts'
import { execute, type OciLab, type OciLabOptions, openOciLab, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { draw } from '../../helpers/sample.ts'

test.each(draw([0, 2, 4, 6, 8, 10, 12, 15, 18, 22, 30, 60], 3))(
  'an agent killed %i ms into a start leaves a whole box, or parts that are replaced',
  async (delayMs) => {
    const options = await killDuringStart(delayMs)
    const lab = await openOciLab(options)
    try {
      const [found] = await lab.runtime.list()
      const spec = struckSpec(lab)
      const { pid } = await lab.runtime.start(spec)
      if (found?.isRunning === true) expect(pid).toBe(found.pid)
      expect(await lab.runtime.mounts(spec.id)).toEqual(spec.mounts)
      expect((await execute(lab.runtime, spec.id, ['hostname'])).stdout).toBe('box-struck\n')
      await lab.runtime.stop(spec.id, { graceMs: 0 })
      expect(await lab.runtime.list()).toEqual([])
    } finally {
      await lab.close()
    }
    await untilGone(lab)
  },
)

function struckSpec(lab: OciLab): BoxSpec {
  const mounts = ['one', 'two'].map((name) => {
    return { source: lab.makeRoot(`volume_${name}`), path: `/data/${name}`, readOnly: name === 'two' }
  })
  return lab.spec('box_struck', { mounts })
}

async function killDuringStart(delayMs: number): Promise<OciLabOptions> {
  const prepared = await openOciLab()
  const spec = struckSpec(prepared)
  const options = await prepared.letGo()
  const { logger: _, ...network } = options.settings
  const task: StarterTask = { network, runDir: `${options.home}/run`, instanceId: options.settings.instanceId, spec }
  const child = spawn(
    'unshare',
    ['--mount', '--propagation', 'slave', process.execPath, STARTER, JSON.stringify(task)],
    { stdio: ['pipe', 'pipe', 'inherit'], env: { PATH: process.env['PATH'] } },
  )
  await once(child.stdout, 'data')
  child.stdin.write('go\n')
  await sleep(delayMs)
  child.kill('SIGKILL')
  await once(child, 'exit')
  return options
}

const STARTER = new URL('../../fixtures/oci-starter.ts', import.meta.url).pathname
