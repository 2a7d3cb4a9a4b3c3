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

  constructor(config, context) {
    super(config, context)
    process.title = `jest ${relative(config.globalConfig.rootDir, context.testPath)}`
  }

  async setup() {
    await super.setup()
    if (process.env.TEST_OWN_MOUNTS === '1') this.#before = new Set(findOwnMounts())
  }

  async teardown() {
    await super.teardown()
    leaveOrphans()
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

// Without those of pods, which come and go with the cluster.
function findOwnMounts() {
  return findMounts().filter((mount) => !mount.includes('/boxyard-cluster/'))
}

const PR_SET_CHILD_SUBREAPER = 36
const prctl = koffi.load(null).func('int prctl(int, ulong, ulong, ulong, ulong)')
