import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { AGENT_SETTINGS } from '../shared/settings-names.ts'
import { SERVERLESS } from './aws/serverless.ts'
import { buildFunction } from './build.ts'
import { dieWithParent, ROOT } from './commands.ts'

/**
 * `npm run offline [-- --port 3000 --lambda-port 3002 --host 127.0.0.1]` runs the function as API Gateway would, in front of a running
 * agent. It gets the agent's address and keys from BOXYARD_AGENT_URL or BOXYARD_AGENT_PORT, and BOXYARD_DATA_DIR.
 */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      host: { type: 'string', default: '127.0.0.1' },
      port: { type: 'string', default: '3000' },
      'lambda-port': { type: 'string', default: '3002' },
    },
  })
  const environment = functionEnvironment(process.env)
  await buildFunction(join(ROOT, 'dist'))
  const ports = ['--host', values.host, '--httpPort', values.port, '--lambdaPort', values['lambda-port']]
  // Does not reload handlers, because each reload leaves a copy of the bundle in memory.
  const [program = '', ...args] = dieWithParent([...SERVERLESS, 'offline', 'start', ...ports])
  const child = spawn(program, args, {
    cwd: ROOT,
    stdio: 'inherit',
    env: { ...withoutAgentSettings(process.env), ...environment },
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill('SIGINT'))
  child.once('exit', (code) => process.exit(code ?? 1))
}

/** Drops the agent's variables, because a function refuses unknown settings. */
function withoutAgentSettings(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const agents = new Set<string>(AGENT_SETTINGS)
  return Object.fromEntries(Object.entries(env).filter(([name]) => !agents.has(name)))
}

function functionEnvironment(env: Record<string, string | undefined>): Record<string, string> {
  const keys = join(env.BOXYARD_DATA_DIR || '/var/lib/boxyard', 'keys')
  const scheme = env.BOXYARD_CHANNEL_CA ? 'https' : 'http'
  return {
    BOXYARD_AGENT_URL: env.BOXYARD_AGENT_URL || `${scheme}://127.0.0.1:${env.BOXYARD_AGENT_PORT || '8090'}`,
    BOXYARD_CHANNEL_KEYS: readKeys(join(keys, 'channel.json')),
    BOXYARD_TOKEN_KEYS: readKeys(join(keys, 'token-public.json')),
  }
}

function readKeys(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim()
  } catch (cause) {
    throw new Error(`${path} is not readable. Start the agent once with \`npm run up\`, or set BOXYARD_DATA_DIR.`, {
      cause,
    })
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
