import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { serverlessCommand } from '../../../infra/aws/serverless.ts'
import { ROOT } from '../../../infra/commands.ts'
import type { FunctionPackage } from './instance.ts'

/** The package to deploy. */
export interface Packed extends FunctionPackage {
  /** The template of the stack. */
  template: Template
  /** The archive for Lambda. */
  zip: Buffer
}

/** A CloudFormation template. */
export interface Template {
  Parameters: Record<string, { Type: string; Default: string }>
  Conditions: Record<string, unknown>
  Resources: Record<string, { Type: string; Condition?: string; Properties: Record<string, unknown> }>
  Outputs: Record<string, { Condition?: string }>
}

/** Builds and packages a stage's function into `directory`, then unpacks it. Empties the directory first. Uses no credentials. */
export async function packFunction(directory: string, stage: string): Promise<Omit<Packed, 'runtime'>> {
  const run = promisify(execFile)
  await run(process.execPath, ['infra/build.ts'], { cwd: ROOT })
  const [program = '', ...args] = serverlessCommand('package', ['--stage', stage, '--package', directory])
  const env = { PATH: process.env['PATH'], HOME: directory }
  await run(program, args, { cwd: ROOT, env })
  const archive = join(directory, 'boxyard.zip')
  const taskRoot = join(directory, 'task')
  await run('python3', ['-m', 'zipfile', '-e', archive, taskRoot])
  const text = readFileSync(join(directory, 'cloudformation-template-update-stack.json'), 'utf8')
  const template = JSON.parse(text) as Template
  const { Handler, Timeout } = template.Resources['RestLambdaFunction']?.Properties ?? {}
  return { template, zip: readFileSync(archive), taskRoot, handler: String(Handler), timeout: Number(Timeout) }
}

/** Returns AWS's Runtime API client. @throws Error outside the suites that find it */
export function lambdaRuntime(): string {
  const runtime = process.env['TEST_LAMBDA_RUNTIME']
  if (runtime === undefined) throw new Error('Run this by `npm test -- lambda`, which sets TEST_LAMBDA_RUNTIME.')
  return runtime
}
