import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CreateTokenBody, createTokenBodySchema, permissionSchema } from '../../shared/schemas/access.ts'
import { pendingRecord } from '../core/reconcile/outcome.ts'
import { changeKeys } from '../lib/disk/key-files.ts'
import { type DeploymentDeps, openDeployment } from './deployment.ts'
import { endHostEdge, openBoxWorld } from './drivers.ts'

type Print = (text: string) => void

/**
 * `down`: stops every box as a shutdown of the host would, and removes what this deployment made on the host: mounts, interfaces,
 * firewall rules, claims, the edge. Data stays, and the next start starts the boxes that ran.
 */
export async function takeDown(deps: DeploymentDeps, print: Print): Promise<number> {
  const { closers, clock, settings } = deps
  const deployment = openDeployment(deps, { exclusive: true })
  const { store } = deployment
  await endHostEdge(deployment)
  const { runtime, network } = await openBoxWorld(deps, deployment)
  const running = (await runtime.list()).filter((box) => box.isRunning)
  const records = new Map((await store.boxes.all()).map((record) => [record.id, record]))
  await Promise.all(
    running.map(async ({ id }) => {
      const record = records.get(id)
      if (record) await store.boxes.replace(pendingRecord(record, 'starting', clock.now()))
      await runtime.stop(id, { graceMs: (record?.gracePeriodSeconds ?? 0) * 1000 })
    }),
  )
  for (const { id } of await runtime.list()) await runtime.stop(id, { graceMs: 0 })
  await runtime.close()
  await network.close({ release: true })
  await closers.run(DOWN_CLOSE_MS)
  removeRunDirectory(deployment.runDir)
  print(`Stopped ${counted(running.length, 'box')}; what ran starts again with the service.`)
  print(`Left in ${settings.dataDir}: ${counted(records.size, 'box')} with all data, keys and tokens.`)
  return 0
}

// Removes nothing while something is mounted below: `rm -r` must never enter a mounted pool.
function removeRunDirectory(runDir: string): void {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
  const isMounted = mounts.split('\n').some((line) => line.split(' ')[4]?.startsWith(`${runDir}/`))
  if (!isMounted) rmSync(runDir, { recursive: true, force: true })
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 'es'}`
}

/** `token [--name N] [--projects a,b|*] [--permissions read,write] [--expires SECONDS]`: issues a token to the operator of the host. */
export async function runTokenCommand(deps: DeploymentDeps, args: readonly string[], print: Print): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: 'string', default: 'admin' },
      projects: { type: 'string', default: '*' },
      permissions: { type: 'string', default: permissionSchema.options.join(',') },
      expires: { type: 'string' },
    },
  })
  const request = parseTokenFlags(values)
  const { dataDir } = deps.settings
  if (!existsSync(join(dataDir, 'boxyard.db'))) throw new Error(`There is no deployment in ${dataDir}.`)
  const { tokens } = openDeployment(deps, { exclusive: false })
  const seconds = request.expires_in_seconds ?? null
  const expiresAt = seconds === null ? null : Math.floor(deps.clock.now() / 1000 + seconds) * 1000
  const { name, projects, permissions } = request
  const { token } = await tokens.issue({ name, projects, permissions, expiresAt, createdBy: null })
  print(token)
  await deps.closers.run(TOKEN_CLOSE_MS)
  return 0
}

interface TokenFlags {
  name: string
  projects: string
  permissions: string
  expires?: string | undefined
}

// Applies the schema that HTTP requests go through.
function parseTokenFlags({ name, projects, permissions, expires }: TokenFlags): CreateTokenBody {
  const parsed = createTokenBodySchema.safeParse({
    name,
    projects: projects === '*' ? '*' : projects.split(','),
    permissions: permissions.split(','),
    expires_in_seconds: expires === undefined ? null : Number(expires),
  })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const flag = issue?.path[0] === 'expires_in_seconds' ? 'expires' : String(issue?.path[0] ?? '')
  throw new Error(`--${flag}: ${issue?.message ?? 'not valid'}.`)
}

/** `keys rotate|drop-old token|channel`: the running service sees the change within a second. */
export function runKeysCommand(deps: DeploymentDeps, args: readonly string[], print: Print): number {
  const [change, kind] = args
  const isKnown = (change === 'rotate' || change === 'drop-old') && (kind === 'token' || kind === 'channel')
  if (!isKnown) throw new Error('Expected: keys rotate|drop-old token|channel.')
  changeKeys(deps.settings.dataDir, kind, change)
  print(
    change === 'rotate'
      ? `A new ${kind} key signs; the old one still verifies.`
      : `Only the newest ${kind} key is left.`,
  )
  return 0
}

const DOWN_CLOSE_MS = 30_000
const TOKEN_CLOSE_MS = 5_000
