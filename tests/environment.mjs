import { TestEnvironment } from 'jest-environment-node'
import { findLeftovers, findMounts } from './helpers/leftovers.ts'

/** The environment of a test file; the file fails if it leaves a mount in its worker's namespace, where that is its own (infra/jest-worker.sh). */
export default class MountWatchingEnvironment extends TestEnvironment {
  #before = null

  async setup() {
    await super.setup()
    if (process.env.TEST_OWN_MOUNTS === '1') this.#before = new Set(findMounts())
  }

  async teardown() {
    await super.teardown()
    const left = this.#before === null ? [] : await findLeftovers(this.#before, findMounts)
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }
}
