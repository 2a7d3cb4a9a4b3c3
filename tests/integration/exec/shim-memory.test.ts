import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { TerminalSession } from '../../../agent/ports/boxes/runtime.ts'
import { newId } from '../../../shared/ids.ts'
import { attachTo } from '../../helpers/attached.ts'
import { type OciLab, openOciLab, shimOf, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

const BOXES = ['box_a', 'box_b', 'box_c', 'box_d']

describe('a shim', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    for (const id of BOXES) await lab.runtime.start(lab.spec(id))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const open = (index: number, shell: string): Promise<TerminalSession> =>
    lab.runtime.openSession(BOXES[index % BOXES.length] ?? '', {
      ...{ sessionId: newId('ses', Date.now()), name: `s${index}`, user: null, cwd: '/', environment: {} },
      ...{ command: ['/bin/sh', '-c', shell], terminal: { cols: 80, rows: 24 } },
    })
  const memoryMib = (): number => {
    const status = readFileSync(`/proc/${shimOf(lab)}/status`, 'utf8')
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
  }

  test('needs little memory for 50 sessions whose last 256 KiB it keeps', async () => {
    const first = await open(0, 'exec sleep 600')
    const before = memoryMib()
    const shell = 'head -c 400000 /dev/zero | tr "\\0" x; echo; exec sleep 600'
    const sessions = await Promise.all(Array.from({ length: 50 }, (_, index) => open(index + 1, shell)))
    for (const session of sessions) {
      const viewer = await attachTo(session)
      await untilTrue(() => viewer.seen.bytes().length >= 256 * 1024)
      viewer.close()
    }
    process.stderr.write(`${before} MiB, and with 50 sessions ${memoryMib()} MiB\n`)
    expect(memoryMib() - before).toBeLessThan(60)
    for (const id of BOXES) await lab.runtime.stop(id, { graceMs: 0 })
    for (const session of [first, ...sessions]) await session.ended
  })
})
