import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'

/**
 * Runs the commands of docs/aws.md that create certificates for connections to the agent. Works in `directory` and creates `keys` there.
 */
export function makeCertificates(directory: string, name = 'DNS:agent.example.com'): void {
  const text = readFileSync(join(ROOT, 'docs/aws.md'), 'utf8')
  const [, commands] = /```sh\n(NAME=[\s\S]*?)```/.exec(text) ?? []
  if (commands === undefined) throw new Error('docs/aws.md makes no certificates')
  mkdirSync(join(directory, 'keys'), { recursive: true })
  execFileSync('bash', ['-euc', commands.replace(/^NAME=.*/, `NAME=${name}`)], { cwd: directory, stdio: 'pipe' })
}
