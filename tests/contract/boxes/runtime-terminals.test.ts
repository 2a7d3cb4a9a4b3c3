import { readdirSync, readlinkSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { TERMINALS_PER_BOX } from '../../../agent/drivers/host/terminals.ts'
import { execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openScreen, textOf } from '../../helpers/exec/screen.ts'

describe('terminals', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_many', { pidsMax: 1_024 }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('fifty at once are separate, and nothing of them is left', async () => {
    await textOf(openScreen(lab, 'box_many', 'true'))
    const before = openDescriptors()
    const entries = workEntries(lab)
    const screens = await Promise.all(
      Array.from({ length: 50 }, (_, n) => openScreen(lab, 'box_many', `tty; read line; echo "${n} $line"`)),
    )
    for (const [n, screen] of screens.entries()) screen.type(`to ${n}\n`)
    const names = new Set<string | undefined>()
    for (const [n, screen] of screens.entries()) {
      expect(await screen.ended).toMatchObject({ exitCode: 0 })
      expect(screen.text()).toContain(`\r\n${n} to ${n}\r\n`)
      names.add(screen.text().match(/\/dev\/pts\/\d+/)?.[0])
    }
    expect(names.size).toBe(50)
    await untilTrue(() => openDescriptors().length <= before.length)
    expect(workEntries(lab)).toEqual(entries)
  })

  test('those that fail leave nothing either', async () => {
    const before = openDescriptors()
    const entries = workEntries(lab)
    for (const user of ['root', 'app'])
      for (const changes of [{}, { cwd: '/nowhere' }])
        expect(
          await openScreen(lab, 'box_many', ['/nowhere/x'], { user, ...changes }).then(({ ended }) => ended),
        ).toMatchObject({ exitCode: 127 })
    await expect(openScreen(lab, 'box_many', 'true', { user: 'nobody-here' })).rejects.toMatchObject({
      code: 'invalid_request',
    })
    await expect(openScreen(lab, 'box_none', 'true')).rejects.toMatchObject({ code: 'box_not_running' })
    await untilTrue(() => openDescriptors().length <= before.length)
    expect(workEntries(lab)).toEqual(entries)
  })

  test('the largest request is served like any other', async () => {
    const environment = { PATH: Array.from({ length: 8_192 }, (_, n) => n.toString(36).padStart(3, '0')).join(':') }
    for (const program of ['x'.repeat(131_071), `/${'x'.repeat(131_070)}`]) {
      const refused = await openScreen(lab, 'box_many', [program], { environment })
      expect(await refused.ended).toMatchObject({ exitCode: 127 })
      expect(refused.text()).toBe(`boxyard: ${program.slice(0, 200)}…: not found\r\n`)
    }
  })

  test('a box without a free terminal is an error, until one is released', async () => {
    // One terminal is the box's own. The directory also has /dev/pts/ptmx.
    const hold = `for n in $(seq ${TERMINALS_PER_BOX - 1}); do sleep 100 3<>/dev/ptmx & done; until [ $(ls /dev/pts | wc -l) = ${TERMINALS_PER_BOX + 1} ]; do sleep 0.2; done; echo held; wait`
    const shim = await openScreen(lab, 'box_many', hold)
    await shim.until(/held\r\n/)
    const before = openDescriptors()
    const refused = await openScreen(lab, 'box_many', 'true')
    expect(await refused.ended).toMatchObject({ exitCode: 126, signal: null })
    expect(refused.text()).toBe('boxyard: the box cannot make a terminal: No space left on device\r\n')
    expect((await execute(lab.runtime, 'box_many', 'echo fine')).stdout).toBe('fine\n')
    await untilTrue(() => openDescriptors().length <= before.length)
    await shim.kill()
    expect(await textOf(openScreen(lab, 'box_many', 'echo fine'))).toBe('fine\r\n')
  })

  test.each([
    'rm /dev/ptmx',
    'ln -sf /dev/zero /dev/ptmx',
    'rm /dev/ptmx; mkfifo /dev/ptmx',
    'sleep 100 3<>/dev/pts/ptmx >/dev/null 2>&1 & sleep 0.2; ln -sf /dev/pts/0 /dev/ptmx',
  ])('a box that has broken its devpts gets no terminal, without other effects: %s', async (spoil) => {
    const spec = lab.spec('box_spoilt')
    await lab.runtime.start(spec)
    const before = openDescriptors()
    await execute(lab.runtime, spec.id, spoil)
    const screen = await openScreen(lab, spec.id, 'echo never')
    expect(await screen.ended).toMatchObject({ exitCode: expect.any(Number) })
    expect(screen.text()).toMatch(/^boxyard: the box cannot make a terminal: .*\r\n$/)
    await untilTrue(() => openDescriptors().length <= before.length)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
  })

  test('one opened while its box is stopping ends or is refused', async () => {
    const spec = lab.spec('box_going')
    await lab.runtime.start(spec)
    const before = openDescriptors()
    const entries = workEntries(lab).filter((entry) => !entry.includes(spec.id))
    const opened = ['root', 'app', 'root', 'app'].map((user) => openScreen(lab, spec.id, 'sleep 100', { user }))
    const settled = Promise.allSettled(opened)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    for (const outcome of await settled) {
      // 126 if crun already misses a part of the box before it starts the program.
      if (outcome.status === 'fulfilled') expect([null, 126]).toContain((await outcome.value.ended).exitCode)
      else expect(outcome.reason).toMatchObject({ code: 'box_not_running' })
    }
    await untilTrue(() => openDescriptors().length <= before.length)
    expect(workEntries(lab)).toEqual(entries)
  })

  test('they end when their box is stopped', async () => {
    const spec = lab.spec('box_brief')
    await lab.runtime.start(spec)
    const before = openDescriptors()
    const screen = await openScreen(lab, spec.id, 'trap "" HUP TERM; echo ready; while :; do sleep 1; done')
    await screen.until(/ready/)
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    expect(await screen.ended).toMatchObject({ exitCode: null, signal: 'SIGKILL' })
    await untilTrue(() => openDescriptors().length <= before.length)
  })
})

function openDescriptors(): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      return [readlinkSync(`/proc/self/fd/${fd}`)]
    } catch {
      return []
    }
  })
}

function workEntries({ home }: OciLab): string[] {
  return readdirSync(`${home}/run/work`, { recursive: true, encoding: 'utf8' }).sort()
}
