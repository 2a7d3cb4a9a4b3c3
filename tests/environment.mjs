import { readFileSync } from 'node:fs'
import { TestEnvironment } from 'jest-environment-node'

/** The environment of a test file; the file fails if it leaves a mount in the mount namespace of its worker. */
export default class MountWatchingEnvironment extends TestEnvironment {
  #before = new Set()

  async setup() {
    await super.setup()
    this.#before = new Set(readMounts())
  }

  async teardown() {
    await super.teardown()
    const left = readMounts().filter((mount) => !this.#before.has(mount))
    if (left.length > 0) throw new Error(`The tests of this file left ${left.length} mounts: ${left.join(', ')}`)
  }
}

/** The mount points below temporary directories of ours, with their ids. */
function readMounts() {
  return readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes('/boxyard-'))
    .map((line) => `${line.split(' ')[4]} (${line.split(' ')[0]})`)
}
