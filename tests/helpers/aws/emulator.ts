import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { dieWithParent, ROOT } from '../../../infra/commands.ts'
import { startLoggingChild } from '../../../infra/logging-child.ts'
import { stopChild } from '../../../infra/service-process.ts'
import { freePort } from '../service.ts'

export const REGION = 'eu-central-1'

/** Output and exit code of a command. */
export interface CommandOutcome {
  code: number
  text: string
}

/** An emulated AWS account. */
export interface AwsEmulator {
  /** Directory of the emulator's Python packages. */
  packages: string
  /** Lines that the server printed. */
  said: readonly string[]
  /** Runs `npm run deploy` with these options. Uses the administrator's credentials by default. */
  deploy(options: readonly string[], credentials?: AwsKey): Promise<CommandOutcome>
  /** Returns everything in the account. */
  inventory(): Promise<Inventory>
  /** Runs Python with `boto3` in scope and returns its output. */
  script(text: string): Promise<string>
  close(): Promise<void>
}

export interface AwsKey {
  id: string
  secret: string
}

// Untyped, because each test reads only the fields that it checks.
// biome-ignore lint/suspicious/noExplicitAny: the shape is that of boto3
type Found = any

export interface Inventory {
  functions: Found[]
  apis: Found[]
  domains: Found[]
  roles: Found[]
  secrets: { Name: string; VersionId: string; Value: Record<string, string> }[]
  parameters: Record<string, string>
  stacks: Found[]
  alarms: Found[]
  buckets: string[]
  zones: Found[]
  logs: Found[]
}

/** Starts an emulator with an empty account. TEST_AWS_EMULATOR is the path of its Python. */
export async function startAwsEmulator(): Promise<AwsEmulator> {
  const python = process.env['TEST_AWS_EMULATOR']
  if (python === undefined) throw new Error('Run this by `npm test -- aws`, which sets TEST_AWS_EMULATOR.')
  const url = `http://127.0.0.1:${await freePort()}`
  const directory = join(ROOT, 'infra/aws-emulator')
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-aws-'))
  const said: string[] = []
  const isReady = Promise.withResolvers<void>()
  const child = startLoggingChild({
    command: dieWithParent([python, join(directory, 'serve.py'), new URL(url).port]),
    env: { PATH: process.env['PATH'], HOME: scratch, MOTO_SERVICE_LOG_LEVEL: 'ERROR' },
    onLine: (line) => {
      said.push(line)
      if (line === 'ready') isReady.resolve()
    },
  })
  void child.exited.then((how) =>
    isReady.reject(new Error(`The emulator ended with ${how}.\n${said.slice(-20).join('\n')}`)),
  )
  await isReady.promise
  const [id = '', secret = ''] = said.find((line) => line.startsWith('AKIA'))?.split(' ') ?? []
  const environment = (credentials: AwsKey): Record<string, string> => ({
    ...{
      PATH: process.env['PATH'] ?? '',
      HOME: scratch,
      AWS_ENDPOINT_URL: url,
      AWS_REGION: REGION,
      AWS_DEFAULT_REGION: REGION,
    },
    ...{ AWS_ACCESS_KEY_ID: credentials.id, AWS_SECRET_ACCESS_KEY: credentials.secret },
    // How often osls polls the state of a stack, in milliseconds.
    SLS_AWS_MONITORING_FREQUENCY: '100',
  })
  const run = (program: string, args: readonly string[], credentials = { id, secret }): Promise<CommandOutcome> =>
    runToEnd(program, args, environment(credentials))
  const runWell = async (args: readonly string[]): Promise<string> => {
    const { code, text } = await run(python, args)
    if (code !== 0) throw new Error(text)
    return text
  }
  return {
    packages: join(dirname(python), '../lib'),
    said,
    deploy: (options, credentials) => run(process.execPath, [join(ROOT, 'infra/deploy.ts'), ...options], credentials),
    inventory: async () => JSON.parse(await runWell([join(directory, 'inventory.py'), REGION])) as Inventory,
    script: (text) => runWell(['-c', `import boto3\n${text}`]),
    close: async () => {
      await stopChild(child, 10_000)
      rmSync(scratch, { recursive: true, force: true })
    },
  }
}

async function runToEnd(
  program: string,
  args: readonly string[],
  env: Record<string, string>,
): Promise<CommandOutcome> {
  try {
    const { stdout, stderr } = await promisify(execFile)(program, [...args], { env, maxBuffer: OUTPUT_MAX })
    return { code: 0, text: stdout + stderr }
  } catch (error) {
    const { code = 1, stdout = '', stderr = '' } = error as { code?: number; stdout?: string; stderr?: string }
    return { code: Number(code), text: stdout + stderr }
  }
}

const OUTPUT_MAX = 16 * 1024 * 1024
