import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { TestEnvironment } from 'jest-environment-node'

/** The environment of a test file; the file fails if it leaves a mount in its worker's namespace, where that is its own (infra/jest-worker.sh). */
export default class MountWatchingEnvironment extends TestEnvironment {
  #before = null

  async setup() {
    await super.setup()
    if (process.env.TEST_OWN_MOUNTS === '1') this.#before = new Set(readMounts())
  }

  async teardown() {
    await super.teardown()
    const deadline = performance.now() + PATIENCE_MS
    let left = this.#left()
    for (; left.length > 0 && performance.now() < deadline; left = this.#left()) await sleep(100)
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }

  #left() {
    return this.#before === null ? [] : readMounts().filter((mount) => !this.#before.has(mount))
  }
}

// As long as for all else that tests may leave (tests/helpers/leftovers.ts).
const PATIENCE_MS = 5_000

/** The mount points below temporary directories of ours, with their ids. */
function readMounts() {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes('/boxyard-'))
    .map((line) => `${line.split(' ')[4]} (${line.split(' ')[0]})`)
}
