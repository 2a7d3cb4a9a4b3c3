import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { text } from 'node:stream/consumers'
import { type ExecDeps, startExec } from '../../agent/drivers/exec/oci-exec.ts'
import { openCommandHost } from '../../agent/drivers/host/command-host.ts'
import { type Crun, compileSeccompFilter } from '../../agent/drivers/host/crun.ts'
import { buildExecConfig } from '../../agent/drivers/host/oci-spec.ts'
import { buildSeccompProfile } from '../../agent/drivers/host/seccomp-profile.ts'
import type { RunningExec } from '../../agent/ports/boxes/runtime.ts'
import { openOciLab } from '../helpers/boxes/oci-lab.ts'
import { silentLogger } from '../helpers/silent-logger.ts'
import { percentile, report, summary } from './figures.ts'

/**
 * Measures the benefit and the cost of the terminal starter (`terminal-gate.ts`), which runs before a program in a terminal. Counts the
 * programs that start with a wrong terminal size on a busy host. Times the first output on an idle host. Runs with and without the starter,
 * alternately.
 */
export async function benchTerminals(): Promise<void> {
  const lab = await openOciLab()
  const runDir = `${lab.home}/run`
  const host = openCommandHost({ ...lab, runDir, workName: 'bench', crunPath: '/usr/bin/crun', logger: silentLogger })
  try {
    const { id: boxId, isRunning } = await lab.runtime.start(lab.spec('box_terminals'))
    const handle = host.handles.readRunning(boxId)
    if (!isRunning || handle === null) throw new Error('the box does not run')
    const profile = buildSeccompProfile(process.arch)
    const filter = await compileSeccompFilter({ ...host, workDir: `${runDir}/bench-filter` }, profile)
    host.crun.remember(boxId, handle.crunStatus, buildExecConfig(filter))
    let count = 0
    const deps: ExecDeps = { ...host, logger: silentLogger, nextName: () => `bench${count++}` }
    const gated = (): Promise<RunningExec> => startSize(deps, boxId, handle.idBase)
    const ungated = (): Promise<RunningExec> =>
      startSize({ ...deps, crun: withoutGate(host.crun) }, boxId, handle.idBase)
    await measureSizes(gated, ungated)
    await measureTimes(gated, ungated)
  } finally {
    host.close()
    await lab.close()
  }
}

async function measureSizes(gated: Start, ungated: Start): Promise<void> {
  const loops = Array.from({ length: availableParallelism() * 2 }, () => spawn('sh', ['-c', 'while :; do :; done']))
  let [wrongGated, wrongUngated] = [0, 0]
  for (let n = 0; n < STARTS; n++) {
    if ((await outputOf(gated)) !== SIZE_TEXT) wrongGated++
    if ((await outputOf(ungated)) !== SIZE_TEXT) wrongUngated++
  }
  for (const loop of loops) loop.kill()
  const measured = `${wrongGated}; without the gate ${wrongUngated} (n=${STARTS} each)`
  report('wrong sizes at the start, on a busy host', measured, '0; without > 0', wrongGated === 0 && wrongUngated > 0)
}

async function measureTimes(gated: Start, ungated: Start): Promise<void> {
  for (let n = 0; n < WARM_UPS; n++) for (const start of [gated, ungated]) await firstOutput(start)
  const pairs: { gatedMs: number; ungatedMs: number }[] = []
  for (let n = 0; n < ROUNDS; n++)
    pairs.push({ gatedMs: await firstOutput(gated), ungatedMs: await firstOutput(ungated) })
  const ours = pairs.map(({ gatedMs }) => gatedMs)
  report('command in a terminal → first output', summary(ours), '≤ 12 ms', percentile(ours, 0.5) <= 12)
  report('  without the gate', summary(pairs.map(({ ungatedMs }) => ungatedMs)), 'told', true)
  const price = percentile(
    pairs.map(({ gatedMs, ungatedMs }) => gatedMs - ungatedMs),
    0.5,
  )
  report('  price of the gate (median of pairs)', `${price.toFixed(1)} ms`, '≤ 1.5 ms', price <= 1.5)
}

/** Starts a program that prints the size of its terminal first. */
function startSize(deps: ExecDeps, boxId: string, idBase: number): Promise<RunningExec> {
  const request = { command: ['stty', 'size'], cwd: '/', environment: {}, user: null, terminal: { cols: 77, rows: 33 } }
  const user = { uid: 0, gid: 0, additionalGids: [], name: 'root', home: '/root' }
  return startExec(deps, { boxId, idBase, user, request, cwd: '/', isRunning: () => true })
}

// Removes the terminal starter, the first argument of the command that crun starts.
function withoutGate(crun: Crun): Crun {
  return {
    ...crun,
    exec: (boxId, process, options) => crun.exec(boxId, { ...process, args: process.args.slice(1) }, options),
  }
}

async function outputOf(start: Start): Promise<string> {
  const running = await start()
  const output = await text(running.stdout)
  await running.exited
  return output
}

/** Returns the milliseconds until a started program prints. Waits for its end. */
async function firstOutput(start: Start): Promise<number> {
  const begun = performance.now()
  const running = await start()
  await once(running.stdout, 'data')
  const ms = performance.now() - begun
  await running.exited
  return ms
}

type Start = () => Promise<RunningExec>

const SIZE_TEXT = '33 77\r\n'
const STARTS = 1_000
const WARM_UPS = 20
const ROUNDS = 200
