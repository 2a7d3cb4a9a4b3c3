import { join } from 'node:path'

/** Root directory of the repository. */
export const ROOT = join(import.meta.dirname, '..')

// A mount namespace for the agent, so that its mounts vanish with it.
const OWN_MOUNTS = ['unshare', '--mount', '--propagation', 'slave', '--']
// Code that Node.js compiled at an earlier start. Cuts the CPU time of the next from 0.65 s to 0.25 s.
const COMPILE_CACHE = join(ROOT, '.build/compile-cache')
// Calls that wait for the disk, for a commit of the pool or for a CPU occupy one each.
const POOL_THREADS = 16
const NODE = [
  ...['env', `NODE_COMPILE_CACHE=${COMPILE_CACHE}`, `UV_THREADPOOL_SIZE=${POOL_THREADS}`],
  ...[process.execPath, '--disable-warning=ExperimentalWarning'],
]

// The agent serves many requests and keeps little. With the default limits its heap grows to twice the size for the same speed.
const SMALL_HEAP = ['--max-semi-space-size=4', '--max-old-space-size=384']
// The same applies to the front, but more of its heap is young. With half of this it needs a third more CPU time, and without a limit twice
// the memory.
const FRONT_HEAP = ['--max-semi-space-size=16', '--max-old-space-size=384']

/** Wraps `command` so that the child gets SIGTERM when its parent has ended for any reason. */
export function dieWithParent(command: readonly string[]): string[] {
  return ['setpriv', '--pdeathsig', 'TERM', '--', ...command]
}

/** Returns the command of the agent. `args` go to agent/main.ts, or to the `script` that replaces it. */
export function agentCommand(args: readonly string[] = [], script = 'agent/main.ts'): string[] {
  return dieWithParent([...OWN_MOUNTS, ...NODE, ...SMALL_HEAP, join(ROOT, script), ...args])
}

/** Returns the command of the standalone front, or of the `script` that stands in for it. */
export function frontCommand(script = 'functions/standalone.ts'): string[] {
  return dieWithParent([...NODE, ...FRONT_HEAP, join(ROOT, script)])
}
