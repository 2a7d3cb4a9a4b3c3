import { appendFileSync } from 'node:fs'
import { relative } from 'node:path'
import { TestEnvironment } from 'jest-environment-node'
import koffi from 'koffi'
import { processorMsIn, readStatFields } from '../infra/proc-stat.ts'
import { EVIDENCE, readEvidence } from './helpers/evidence.ts'
import { findLeftovers, findMounts } from './helpers/leftovers.ts'
import { WORKER_SERVICE } from './helpers/shared-service.ts'
import { createWorkerService } from './helpers/worker-service.ts'

/** Lives as long as the worker. Jest loads this module only once, but loads the tests' modules again for each file. */
const workerService = createWorkerService()

/**
 * The environment of a test file. The process title is the file's path (infra/jest/watch.mjs).
 * Fails the file if it leaves a mount in a mount namespace that only its worker uses (infra/jest/worker.sh). Also fails the file if the
 * worker's service has records or faults left. After each file, its process stops adopting orphans. A failed test also shows lines from
 * helpers (tests/helpers/evidence.ts).
 */
export default class MountWatchingEnvironment extends TestEnvironment {
  #before = null
  #evidence = []
  #file
  #cpuMs = cpuMs()

  constructor(config, context) {
    super(config, context)
    this.#file = relative(config.globalConfig.rootDir, context.testPath)
    process.title = `jest ${this.#file}`
    this.global[WORKER_SERVICE] = workerService
    this.global[EVIDENCE] = this.#evidence
  }

  async setup() {
    await super.setup()
    if (process.env.TEST_OWN_MOUNTS === '1') this.#before = new Set(findOwnMounts())
  }

  async handleTestEvent({ name, error }) {
    if (!FAILURES.has(name) || !(error?.stack?.length > 0)) return
    const lines = await readEvidence(this.#evidence)
    if (lines.length > 0) error.stack += `\n\n${lines.join('\n')}`
  }

  async teardown() {
    await super.teardown()
    leaveOrphans()
    try {
      await workerService.endFile()
    } finally {
      noteProcessorTime(this.#file, cpuMs() - this.#cpuMs)
    }
    const left = this.#before === null ? [] : await findLeftovers(this.#before, findOwnMounts)
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }
}

/**
 * Stops this process from adopting orphans, which a runtime in it starts (agent/drivers/host/command-host.ts). In the next file, it would
 * adopt processes of a killed agent and never reap them. A box does not end until all its processes are reaped.
 */
function leaveOrphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
}

/** Adds a line with the file and its CPU time in seconds to the report of the run (infra/jest/run.ts). */
function noteProcessorTime(file, ms) {
  const path = process.env.TEST_TIMES
  if (path !== undefined) appendFileSync(path, `${file} ${(ms / 1000).toFixed(2)}\n`)
}

/** Returns the CPU time of this process and its shared service, including all children that they have waited for. */
function cpuMs() {
  return ['self', ...workerService.pids()].reduce((sum, pid) => sum + processorMsIn(readStatFields(pid)), 0)
}

// Leaves out mounts of pods, which come and go with the cluster.
function findOwnMounts() {
  return findMounts().filter((mount) => !mount.includes('/boxyard-cluster/'))
}

const FAILURES = new Set(['test_fn_failure', 'hook_failure'])
const PR_SET_CHILD_SUBREAPER = 36
const prctl = koffi.load(null).func('int prctl(int, ulong, ulong, ulong, ulong)')
