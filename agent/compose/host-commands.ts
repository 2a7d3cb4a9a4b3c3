import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { type CreateTokenBody, createTokenBodySchema, permissionSchema } from '../../shared/schemas/access.ts'
import { changeKeys } from '../lib/disk/key-files.ts'
import { type DeploymentDeps, openDeployment } from './deployment.ts'

type Print = (text: string) => void

/** `token [--name N] [--projects a,b|*] [--permissions read,write] [--expires SECONDS]`: mints a token for the host's own operator. */
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
  const wanted = parseWanted(values)
  const { dataDir } = deps.settings
  if (!existsSync(join(dataDir, 'boxyard.db'))) throw new Error(`There is no deployment in ${dataDir}.`)
  const { tokens } = openDeployment(deps, { exclusive: false })
  const seconds = wanted.expires_in_seconds ?? null
  const expiresAt = seconds === null ? null : Math.floor(deps.clock.now() / 1000 + seconds) * 1000
  const { name, projects, permissions } = wanted
  const { token } = await tokens.issue({ name, projects, permissions, expiresAt, createdBy: null })
  print(token)
  await deps.closers.run(CLOSE_MS)
  return 0
}

interface TokenFlags {
  name: string
  projects: string
  permissions: string
  expires?: string | undefined
}

// The same rules as over HTTP.
function parseWanted({ name, projects, permissions, expires }: TokenFlags): CreateTokenBody {
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

const CLOSE_MS = 5_000
