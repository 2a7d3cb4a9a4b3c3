import { existsSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { newId } from '../../../shared/ids.ts'
import { LINGERING_MAX } from '../../../shared/lingering.ts'
import { type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'

const [CALM, LOUD] = ['box_calm', 'box_loud']
// Writes to the pipes of its command until they close, and then creates a file.
const TALKER = '(trap "" PIPE; while echo x; do echo . >>/tmp/beats; sleep 0.05; done; touch /tmp/gone) 2>/dev/null &'

let lab: OciLab

beforeAll(async () => {
  lab = await openOciLab()
  for (const id of [CALM, LOUD]) await lab.runtime.start({ ...lab.spec(id), pidsMax: 1_024 })
})

afterAll(async () => {
  await lab.close()
  await untilGone(lab)
})

const run = async (boxId: string, shell: string): Promise<void> => {
  const request = { command: ['/bin/sh', '-c', shell], cwd: '/', environment: {}, user: null }
  const options = { ...request, stdin: Buffer.alloc(0), timeoutMs: null }
  const { detached } = await lab.runtime.execDetached(boxId, newId('exe', Date.now()), options)
  await detached.ended
  await detached.forget()
}
const at = (boxId: string, path: string): string => `${lab.home}/roots/${boxId}/tmp/${path}`
const beats = (): number => readFileSync(at(CALM, 'beats'), 'utf8').length

test('a shim closes the streams of the box that left most open, and not the oldest of all', async () => {
  await run(CALM, TALKER)
  await run(LOUD, TALKER)
  for (let left = LINGERING_MAX; left > 0; left -= 16) {
    const starts = Array.from({ length: Math.min(left, 16) }, () => run(LOUD, 'sleep 600 &'))
    await Promise.all(starts)
  }
  await untilTrue(() => existsSync(at(LOUD, 'gone')))
  const before = beats()
  await untilTrue(() => beats() > before + 3)
  expect(existsSync(at(CALM, 'gone'))).toBe(false)
})
