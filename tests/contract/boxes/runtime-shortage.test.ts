import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { newId } from '../../../shared/ids.ts'
import {
  boxCgroupFile,
  type ExecOutcome,
  execute,
  type OciLab,
  openOciLab,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'

const PIDS_MAX = 32
/** Processes of a box without commands: its init. */
const OWN = 1
const FULL = 'box_full'
const SMALL = 'box_small'
// Needs more memory than the box has, in a child of the shell.
const HOG = 'tail -c 200m /dev/zero'

describe('a command in a box that is short of something', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec(FULL, { pidsMax: PIDS_MAX }))
    await lab.runtime.start(lab.spec(SMALL, { ramMb: 64 }))
    await execute(
      lab.runtime,
      FULL,
      'printf "#!/bin/sh\nexit 0\n" >/bin/only-in-the-box; chmod 755 /bin/only-in-the-box',
    )
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  const processes = (): number => Number(readFileSync(boxCgroupFile(lab, FULL, 'pids', 'pids.current'), 'utf8'))
  /** Fills the box with processes until only `free` more can start. */
  const fill = async (free: number): Promise<() => Promise<void>> => {
    // Processes of an earlier call count until they are reaped. They would keep the shell from starting all of its processes.
    await untilTrue(() => processes() === OWN)
    const count = PIDS_MAX - OWN - 1 - free
    const script = `read go; i=0; while [ $i -lt ${count} ]; do sleep 600 >/dev/null 2>&1 </dev/null & i=$((i+1)); done; echo up; exec sleep 600`
    const request = { command: ['/bin/sh', '-c', script], cwd: '/', environment: {}, user: null }
    const filler = await lab.runtime.exec(FULL, request)
    // crun counts until it exits. A shell that forks before that cannot start its last process, and exits.
    await untilTrue(() => processes() === OWN + 1)
    filler.stdin.write('go\n')
    const up = new Promise((resolve) => filler.stdout.once('data', () => resolve('up')))
    expect(await Promise.race([up, filler.exited])).toBe('up')
    await untilTrue(() => processes() === PIDS_MAX - free)
    return async () => {
      await filler.signal('SIGKILL')
      await filler.exited
      for (const stream of [filler.stdin, filler.stdout, filler.stderr]) stream.destroy()
      await untilTrue(() => processes() === OWN)
    }
  }
  const inTerminal = async (command: string[]): Promise<ExecOutcome> => {
    const request = { command, cwd: '/', environment: {}, user: null, terminal: { cols: 80, rows: 24 } }
    const running = await lab.runtime.exec(FULL, request)
    const [exit, stdout] = await Promise.all([running.exited, text(running.stdout)])
    running.stdin.destroy()
    return { ...exit, stdout, stderr: '' }
  }

  test.each([0, 1, 2])('is not started with room for %d processes, and ends none of the others', async (free) => {
    const empty = await fill(free)
    try {
      for (let round = 0; round < 5; round++) {
        expect(await execute(lab.runtime, FULL, ['true'])).toEqual({ ...REFUSED, stdout: '', stderr: LINE })
        expect(await inTerminal(['true'])).toEqual({ ...REFUSED, stdout: LINE.replace('\n', '\r\n'), stderr: '' })
        expect(processes()).toBe(PIDS_MAX - free)
      }
    } finally {
      await empty()
    }
    expect(await execute(lab.runtime, FULL, ['true'])).toMatchObject({ exitCode: 0 })
  })

  test('is told of no program of the host, and runs none there', async () => {
    const mark = join(mkdtempSync(join(tmpdir(), 'boxyard-shortage-')), 'mark')
    const empty = await fill(0)
    try {
      for (const program of ['/no/such/program', '/usr/bin/crun', 'busybox'])
        expect(await execute(lab.runtime, FULL, [program, '--version'])).toMatchObject(REFUSED)
      expect(await execute(lab.runtime, FULL, `echo >${mark}`)).toMatchObject(REFUSED)
      expect(existsSync(mark)).toBe(false)
    } finally {
      await empty()
      rmSync(dirname(mark), { recursive: true })
    }
  })

  test('that starts while the box forks all the time is refused or runs, and the box keeps its programs', async () => {
    const empty = await fill(6)
    try {
      const forking = execute(lab.runtime, FULL, [
        'awk',
        `BEGIN { while (n++ < 300) system("true & true & true & true & wait") }`,
      ])
      for (let round = 0; round < 20; round++) {
        const outcome = await execute(lab.runtime, FULL, ['/bin/only-in-the-box'])
        expect([DONE, REFUSED]).toContainEqual({ ...outcome, stdout: undefined, stderr: undefined })
      }
      await forking
      await untilTrue(() => processes() === PIDS_MAX - 6)
    } finally {
      await empty()
    }
  })

  test('is refused or runs near the process limit, and has no other end', async () => {
    for (const free of [3, 4]) {
      const empty = await fill(free)
      try {
        for (let round = 0; round < 5; round++) {
          const outcome = await execute(lab.runtime, FULL, ['true'])
          const isRefused = outcome.exitCode === 126
          expect(outcome).toEqual({ ...(isRefused ? REFUSED : DONE), stdout: '', stderr: isRefused ? LINE : '' })
        }
      } finally {
        await empty()
      }
    }
  })

  test('is not started by the shim at the process limit either', async () => {
    const empty = await fill(0)
    const given = {
      command: ['true'],
      cwd: '/',
      environment: {},
      user: null,
      stdin: new Uint8Array(0),
      timeoutMs: null,
    }
    try {
      const { detached } = await lab.runtime.execDetached(FULL, newId('exe', Date.now()), given)
      expect(await detached.ended).toMatchObject(REFUSED)
      await detached.forget()
    } finally {
      await empty()
    }
  })

  test.each([
    ['the command', `exec ${HOG}`, { exitCode: null, signal: 'SIGKILL', outOfMemory: true }],
    ['a child of it', `${HOG} | cat; exit 5`, { exitCode: 5, signal: null, outOfMemory: false }],
    ['two children of it', `${HOG} | cat; ${HOG} | cat; exit 6`, { exitCode: 6, signal: null, outOfMemory: false }],
  ])('tells that %s ran out of memory', async (who, script, end) => {
    const before = lab.runtime.oomKills()
    const oomKills = who.startsWith('two') ? 2 : 1
    expect(await execute(lab.runtime, SMALL, script)).toMatchObject({ ...end, oomKills })
    expect(lab.runtime.oomKills()).toBe(before + oomKills)
    const given = { command: ['/bin/sh', '-c', script], cwd: '/', environment: {}, user: null }
    const input = { stdin: new Uint8Array(0), timeoutMs: null }
    const { detached } = await lab.runtime.execDetached(SMALL, newId('exe', Date.now()), { ...given, ...input })
    expect(await detached.ended).toMatchObject({ ...end, oomKills })
    await detached.forget()
    expect(lab.runtime.oomKills()).toBe(before + 2 * oomKills)
  })

  test('that ran out of no memory does not tell of kills before it', async () => {
    expect(await execute(lab.runtime, SMALL, `kill -9 $$`)).toEqual({ ...KILLED, stdout: '', stderr: '' })
  })
})

const REFUSED = { exitCode: 126, signal: null, outOfMemory: false, reason: 'process_limit_reached' }
const LINE = `boxyard: true: cannot be started: the box is at its limit of ${PIDS_MAX} processes\n`
const DONE = { exitCode: 0, signal: null, outOfMemory: false }
const KILLED = { exitCode: null, signal: 'SIGKILL', outOfMemory: false }
