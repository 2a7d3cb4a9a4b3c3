import { relative } from 'node:path'
import { TestEnvironment } from 'jest-environment-node'
import { findLeftovers, findMounts } from './helpers/leftovers.ts'

/**
 * The environment of a test file, whose path the process bears as its title (infra/jest-watch.mjs). The file fails if it leaves a mount in
 * its worker's namespace, where that is its own (infra/jest-worker.sh).
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
    const left = this.#before === null ? [] : await findLeftovers(this.#before, findOwnMounts)
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }
}

// Without those of pods, which come and go with the cluster.
function findOwnMounts() {
  return findMounts().filter((mount) => !mount.includes('/boxyard-cluster/'))
}
