import { spawnSync } from 'node:child_process'

/** The result of a kubectl command. */
export interface KubectlResult {
  exitCode: number | null
  stdout: string
  stderr: string
}

/** Runs kubectl on the cluster of KUBECONFIG to its end. */
export function kubectl(...args: string[]): KubectlResult {
  return kubectlWith('', ...args)
}

/** The same, with `input` on stdin. */
export function kubectlWith(input: string, ...args: string[]): KubectlResult {
  const program = process.env['BOXYARD_TEST_KUBECTL'] ?? 'kubectl'
  const { status, stdout, stderr, error } = spawnSync(program, args, { input, encoding: 'utf8' })
  if (error) throw error
  return { exitCode: status, stdout, stderr }
}

/** Returns the outcome; throws with kubectl's stderr if it failed. */
export function succeed(outcome: KubectlResult): KubectlResult {
  if (outcome.exitCode !== 0) throw new Error(outcome.stderr)
  return outcome
}
