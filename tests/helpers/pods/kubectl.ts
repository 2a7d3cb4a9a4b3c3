import { spawnSync } from 'node:child_process'

/** The result of a kubectl command. */
export interface KubectlResult {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** Runs kubectl to its end on the cluster of KUBECONFIG. Fails after a limit, with a list of the pods and events at that time. */
export function kubectl(...args: string[]): KubectlResult {
  return kubectlWith('', ...args)
}

/** Runs kubectl with `input` on stdin. */
export function kubectlWith(input: string, ...args: string[]): KubectlResult {
  const program = kubectlProgram()
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8', timeout: LIMIT_MS })
  if (error && 'code' in error && error.code === 'ETIMEDOUT') throw new Error(describeWait(program, args))
  if (error) throw error
  return { exitCode: status, stdout, stderr }
}

/** Returns the kubectl program for the tests' cluster. */
export function kubectlProgram(): string {
  return process.env['BOXYARD_TEST_KUBECTL'] ?? 'kubectl'
}

function describeWait(program: string, args: readonly string[]): string {
  const where = args.filter((arg) => /^--(kubeconfig|namespace)=/.test(arg))
  const show = [...where, '--request-timeout=5s', 'get', 'pods,events', '-o', 'wide']
  const { stdout, stderr } = spawnSync(program, show, { encoding: 'utf8', timeout: 10_000 })
  return `kubectl ${args.join(' ')} waits for too long. There are:\n${stdout}${stderr}`
}

/** Returns the outcome. Throws with kubectl's stderr if it failed. */
export function succeed(outcome: KubectlResult): KubectlResult {
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr)
  return outcome
}

// Less than the time limit of a test. A test cannot end while kubectl runs.
const LIMIT_MS = 240_000
