import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import { createBoxActivity } from '../../../agent/core/boxes/activity.ts'
import { createExecs } from '../../../agent/core/exec/execs.ts'
import { createExecOutputs } from '../../../agent/drivers/exec/outputs.ts'
import { openSqliteStore } from '../../../agent/drivers/store/store.ts'
import type { DetachedExec } from '../../../agent/ports/boxes/runtime.ts'
import type { ExecRecord } from '../../../agent/ports/store/exec.ts'
import type { Store } from '../../../agent/ports/store/store.ts'
import { newId } from '../../../shared/ids.ts'
import { boxRecord } from '../../helpers/boxes/box-records.ts'
import {
  execCgroups,
  execute,
  type OciLab,
  openOciLab,
  shimOf,
  untilGone,
  untilTrue,
} from '../../helpers/boxes/oci-lab.ts'
import { silentLogger } from '../../helpers/silent-logger.ts'
import { silentMeter } from '../../helpers/silent-meter.ts'

const BOX = 'box_held'
const KEPT_BYTES = 8 * 1024 ** 2

describe('with a box', () => {
  let lab: OciLab
  let store: Store

  beforeEach(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec(BOX))
    store = openSqliteStore(`${lab.home}/boxyard.db`)
    await store.boxes.insert(boxRecord({ id: BOX }))
  })

  afterEach(async () => {
    await store.close()
    await lab.close()
    await untilGone(lab)
  })

  const hold = async (shell: string, { runtime } = lab): Promise<DetachedExec> => {
    const id = newId('exe', Date.now())
    const request = { command: ['/bin/sh', '-c', shell], cwd: '/', environment: {}, user: null }
    return (await runtime.execDetached(BOX, id, { ...request, stdin: Buffer.alloc(0), timeoutMs: null })).detached
  }
  const record = async ({ execId }: DetachedExec): Promise<ExecRecord> => {
    const made: ExecRecord = {
      ...{ id: execId, boxId: BOX, project: 'demo', box: 'web', command: ['x'], status: 'running', exitCode: null },
      ...{ signal: null, startedAt: 1, endedAt: null, tty: false, user: 'root', cwd: '/', detached: true, process: 2 },
      ...{ stdoutBytes: 0, stderrBytes: 0 },
    }
    await store.execs.insert(made)
    return made
  }
  const files = (): string[] => readdirSync(`${lab.home}/run/execs/${BOX}`).sort()
  const recover = async (execsAtOnce = 10) => {
    const outputs = createExecOutputs({ directory: `${lab.home}/run/execs`, keptBytes: KEPT_BYTES })
    const limits = {
      ...{ execOutputBytes: 1000, execsAtOnce },
      ...{ execRecordsPerBox: 10, execRecordBytesPerBox: 10 * KEPT_BYTES },
    }
    const clock = {
      now: () => 5,
      sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms).unref()),
    }
    const execs = createExecs({
      store,
      outputs,
      runtime: lab.runtime,
      clock,
      logger: silentLogger,
      meter: silentMeter,
      activity: createBoxActivity(),
      actorContext: { current: () => null },
      limits,
    })
    await execs.recover([])
    return execs
  }
  const shim = (): number => shimOf(lab)

  test('a command whose record was never written is ended, and nothing of it is kept', async () => {
    const held = await hold('echo x; sleep 600')
    await lab.reopen()
    await recover()
    await untilTrue(() => execCgroups(lab, BOX).length === 0 && files().length === 0)
    expect(await lab.runtime.listDetached()).toEqual([])
    expect(held.process).not.toBeNull()
  })

  test('a command with a recorded end keeps its output until the shim forgets it', async () => {
    const held = await hold('head -c 200000 /dev/zero; exit 3')
    const running = await record(held)
    await held.ended
    const output = { stdout: null, stderr: new Uint8Array(0) }
    const ended = { ...running, status: 'exited' as const, exitCode: 3, stdoutBytes: 200_000 }
    await store.execs.finish({ record: ended, output, fileBytes: 200_000 }, { records: 10, bytes: KEPT_BYTES })
    await lab.reopen()
    const execs = await recover()
    await untilTrue(() => !files().includes(`${held.execId}.exit`))
    expect(files()).toContain(`${held.execId}.stdout`)
    const query = { stream: 'stdout', offset: 0, max_bytes: 1000, encoding: 'base64', wait_seconds: 0 } as const
    expect((await execs.output(boxRecord({ id: BOX }), held.execId, query)).bytes).toHaveLength(1000)
  })

  test('files without a record are removed, and small output moves into its record', async () => {
    const [small, gone] = [await hold('echo small; exit 4'), await hold('echo gone')]
    await record(small)
    await Promise.all([small.ended, gone.ended])
    mkdirSync(`${lab.home}/run/execs/box_unknown`)
    await lab.reopen()
    const execs = await recover()
    await untilTrue(() => files().length === 0)
    expect(existsSync(`${lab.home}/run/execs/box_unknown`)).toBe(false)
    const found = await execs.get(boxRecord({ id: BOX }), small.execId, 0)
    expect(found.record).toMatchObject({ status: 'exited', exitCode: 4, stdoutBytes: 6 })
    expect(Buffer.from(found.output.stdout).toString()).toBe('small\n')
  })

  test('a box may run half of all concurrent commands, detached ones included', async () => {
    await record(await hold('sleep 600'))
    await lab.reopen()
    const execs = await recover(4)
    const running = { status: 'running' } as const
    const box = boxRecord({ id: BOX, observed: { ...boxRecord().observed, ...running } })
    const run = (shell: string) => execs.run(box, { shell }, { waitMs: 1, onRecorded: () => Promise.resolve() })
    await run('sleep 600')
    await expect(run('true')).rejects.toMatchObject({ code: 'rate_limited' })
    await execs.close(1_000)
  })

  test('a hanging shim keeps neither a box from stopping nor the next agent from starting', async () => {
    const restarted = await openOciLab()
    try {
      await restarted.runtime.start(restarted.spec(BOX))
      await Promise.all([stopBesideStoppedShim(), reopenBesideStoppedShim(restarted)])
    } finally {
      await restarted.close()
    }
  })

  const stopBesideStoppedShim = async (): Promise<void> => {
    const held = await hold('sleep 600')
    const pid = shim()
    process.kill(pid, 'SIGSTOP')
    await lab.runtime.stop(BOX, { graceMs: 0 })
    expect(await held.ended).toBeNull()
    await lab.runtime.start(lab.spec(BOX))
    const next = await hold('exit 6')
    expect(await next.ended).toMatchObject({ exitCode: 6 })
    expect(shim()).not.toBe(pid)
    expect((await execute(lab.runtime, BOX, 'echo well')).stdout).toBe('well\n')
  }

  const reopenBesideStoppedShim = async (restarted: OciLab): Promise<void> => {
    await hold('sleep 600', restarted)
    await restarted.runtime.close()
    process.kill(shimOf(restarted), 'SIGSTOP')
    await restarted.reopen()
    expect(await restarted.runtime.listDetached()).toEqual([])
    expect(execCgroups(restarted, BOX)).toEqual([])
  }
})
