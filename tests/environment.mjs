import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { TestEnvironment } from 'jest-environment-node'
import koffi from 'koffi'
import { findLeftovers, findMounts } from './helpers/leftovers.ts'

/**
 * The environment of a test file, whose path the process bears as its title (infra/jest/watch.mjs). The file fails if it leaves a mount in
 * its worker's namespace, where that is its own (infra/jest/worker.sh). What it starts is not adopted by its process in later files.
 */
export default class MountWatchingEnvironment extends TestEnvironment {
  #before = null
  #file
  #cpuTicks = cpuTicks()

  constructor(config, context) {
    super(config, context)
    this.#file = relative(config.globalConfig.rootDir, context.testPath)
    process.title = `jest ${this.#file}`
  }

  async setup() {
    await super.setup()
    if (process.env.TEST_OWN_MOUNTS === '1') this.#before = new Set(findOwnMounts())
  }

  async teardown() {
    await super.teardown()
    leaveOrphans()
    noteProcessorTime(this.#file, cpuTicks() - this.#cpuTicks)
    const left = this.#before === null ? [] : await findLeftovers(this.#before, findOwnMounts)
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }
}

/**
 * Ends what a runtime in this process began (agent/drivers/host/command-host.ts). In the next file this process would adopt what an agent
 * that is killed leaves, and collect none of it: a box does not end before all of its processes are collected.
 */
function leaveOrphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
}

/** Adds a line for the report of the run (infra/jest/run.ts): the file and the seconds of processor time that it took. */
function noteProcessorTime(file, ticks) {
  const path = process.env.TEST_TIMES
  if (path !== undefined) appendFileSync(path, `${file} ${(ticks / TICKS_A_SECOND).toFixed(2)}\n`)
}

/** Processor time of this process and of all its children that it has waited for, with theirs, in clock ticks: proc_pid_stat(5). */
function cpuTicks() {
  const stat = readFileSync('/proc/self/stat', 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0)
}

// Without those of pods, which come and go with the cluster.
function findOwnMounts() {
  return findMounts().filter((mount) => !mount.includes('/boxyard-cluster/'))
}

const TICKS_A_SECOND = 100
const PR_SET_CHILD_SUBREAPER = 36
const prctl = koffi.load(null).func('int prctl(int, ulong, ulong, ulong, ulong)')
