import { type ChildProcess, spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../../infra/commands.ts'
import { untilSucceeds } from '../eventually.ts'
import { type Client, createClient } from '../front/client.ts'

/** A script of this checkout, run as npm runs it, with its output so far. */
export interface RigScript {
  process: ChildProcess
  output(): string
  /** Its exit code. Null if a signal ended it. */
  exited: Promise<number | null>
}

/** Starts `infra/SCRIPT.ts` with arguments. `enter` starts it on a node. */
export function startScript(
  script: string,
  args: readonly string[],
  { env = {}, enter = null }: { env?: Record<string, string>; enter?: string | null } = {},
): RigScript {
  const command = [process.execPath, join(ROOT, `infra/${script}.ts`), ...args]
  const [program = '', ...rest] = enter === null ? command : [enter, ...command]
  const { PATH, HOME } = process.env
  const child = spawn(program, rest, { cwd: ROOT, env: { PATH, HOME, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  const exited = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { process: child, output: () => output, exited }
}

/** Runs a script until it exits. */
export async function runScript(script: string, ...args: string[]): Promise<{ code: number | null; output: string }> {
  const started = startScript(script, args)
  return { code: await started.exited, output: started.output() }
}

/** A fleet that `npm run fleet:up` runs. */
export interface Rig extends RigScript {
  kubeconfig: string
  /** URLs of the gateways. */
  urls: string[]
  /** A client for each gateway, with the printed token. */
  doors: Client[]
}

/** Starts `fleet:up` with settings for all cells. Resolves once it is ready. @throws Error with its output if it ends before that */
export async function startRig(name: string, settings: Record<string, string> = {}): Promise<Rig> {
  const script = startScript('fleet/up', [name], { env: settings })
  await untilPrinted(script, /^Boxyard fleet is ready$/m)
  const told = (variable: string): string[] =>
    [...script.output().matchAll(new RegExp(`^${variable}=(.*)$`, 'gm'))].map(([, value = '']) => value)
  const token = readFileSync(told('TOKEN_FILE')[0] ?? '', 'utf8').trim()
  const urls = told('DOOR')
  const doors = urls.map((url) =>
    createClient(
      () => url,
      () => token,
    ),
  )
  return { ...script, kubeconfig: told('KUBECONFIG')[0] ?? '', urls, doors }
}

/** Resolves once a script's output matches `pattern`. @throws Error with its output if it ends before that */
export async function untilPrinted(script: RigScript, pattern: RegExp): Promise<void> {
  const { process: child, output } = script
  const hasEnded = (): boolean => child.exitCode !== null || child.signalCode !== null
  await untilSucceeds(async () => {
    if (!hasEnded() && !pattern.test(output())) throw new Error(`${String(pattern)} is not printed:\n${output()}`)
  })
  if (!pattern.test(output())) throw new Error(`It ended:\n${output()}`)
}
