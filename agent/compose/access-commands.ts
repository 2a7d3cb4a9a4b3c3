import { parseArgs } from 'node:util'
import { faultWords } from '../../shared/fault-words.ts'
import { type CreateTokenBody, createTokenBodySchema } from '../../shared/schemas/access.ts'
import { oldChannelKeyUse, trustBackupKeys } from '../lib/disk/key-files.ts'
import type { TokenRecord } from '../ports/store/tokens.ts'
import { replaceAdminToken, signAdminTokenAnew } from './admin-token.ts'
import { type Deployment, type DeploymentDeps, openDeployment, requireDeployment } from './deployment.ts'
import { openHostAccess } from './fleet.ts'
import { askRunningAgent } from './reload.ts'
import type { HostAccess } from './tokens.ts'

type Print = (text: string) => void

/** `token …`: issues a token to the operator of the host, and prints it. `TOKEN_HELP` lists the options. */
export async function runTokenCommand(deps: DeploymentDeps, args: readonly string[], print: Print): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      name: { type: 'string', default: 'operator' },
      projects: { type: 'string', default: '*' },
      permissions: { type: 'string', default: 'read,write,exec,ports' },
      expires: { type: 'string', default: '30d' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return show(TOKEN_HELP, print)
  const { name, projects, permissions, expires_in_seconds: seconds = null } = parseTokenFlags(values)
  const expiresAt = seconds === null ? null : Math.floor(deps.clock.now() / 1000 + seconds) * 1000
  return inDeployment(deps, async ({ tokens }) => {
    const { token } = await tokens.issue({ name, projects, permissions, expiresAt, createdBy: null })
    print(token)
    return 0
  })
}

interface TokenFlags {
  name: string
  projects: string
  permissions: string
  expires: string
}

// Applies the schema that HTTP requests go through.
function parseTokenFlags({ name, projects, permissions, expires }: TokenFlags): CreateTokenBody {
  const body = {
    name,
    projects: projects === '*' ? '*' : projects.split(','),
    permissions: permissions.split(','),
    expires_in_seconds: parseLife(expires),
  }
  const parsed = createTokenBodySchema.safeParse(body, { error: faultWords })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const flag = issue?.path[0] === 'expires_in_seconds' ? 'expires' : String(issue?.path[0] ?? '')
  const [unit, given] = flag === 'expires' ? [' s', expires] : ['', { name, projects, permissions }[flag]]
  throw new Error(
    `--${flag}: ${issue?.message ?? 'is not valid'}${unit}, not "${String(given).slice(0, SHOWN_CHARACTERS)}".`,
  )
}

/** Returns seconds, or null for `never`. @throws Error */
function parseLife(text: string): number | null {
  if (text === 'never') return null
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === undefined)
    throw new Error(`--expires: must be seconds, a number with s, m, h or d, or never, not "${text}".`)
  return Number(count) * (SECONDS[unit] ?? 1)
}

/** `renew [--revoke]`: puts another administrator's token into `admin.token`. `RENEW_HELP` has the option. */
export async function runRenewCommand(deps: DeploymentDeps, args: readonly string[], print: Print): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { revoke: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  })
  if (values.help) return show(RENEW_HELP, print)
  const { clock, settings } = deps
  const { dataDir } = settings
  requireDeployment(dataDir)
  // A running agent does it itself, since its edge must forget sessions of the old token.
  const answer = await askRunningAgent(settings, { kind: 'renew', revokes: values.revoke })
  const finish = (endsAt: number): number => {
    print(`Wrote a new token to ${dataDir}/admin.token. It expires at ${new Date(endsAt).toISOString()}.`)
    return 0
  }
  if (typeof answer === 'number') return finish(answer)
  return inDeployment(deps, async (deployment) =>
    finish(await replaceAdminToken({ ...deployment, dataDir, clock }, { revokes: values.revoke })),
  )
}

/**
 * `keys rotate|drop-old token|channel [--force]`, `keys prepare token`, `keys trust backup FILE`. The running service sees the change
 * within a second.
 */
export async function runKeysCommand(deps: DeploymentDeps, args: readonly string[], print: Print): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: { force: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  })
  if (values.help) return show(KEYS_HELP, print)
  const [change, kind, ...rest] = positionals
  const { dataDir } = deps.settings
  if (change === 'prepare' && kind === 'token' && rest.length === 0) {
    return inDeployment(deps, async ({ changeKeys }) => {
      await changeKeys(kind, change)
      return show(
        'Created the next token key. It verifies tokens now, and signs them after `keys rotate token`.',
        print,
      )
    })
  }
  if (change === 'trust' && kind === 'backup') {
    const [path, ...others] = rest
    if (path === undefined || others.length > 0) throw new Error('Expected: keys trust backup FILE.')
    return inDeployment(deps, async ({ shareKeys }) => {
      const count = trustBackupKeys(dataDir, path)
      await shareKeys()
      return show(`${count === 1 ? '1 more key verifies' : `${count} more keys verify`} backups.`, print)
    })
  }
  const isKnown = (change === 'rotate' || change === 'drop-old') && (kind === 'token' || kind === 'channel')
  if (!isKnown || rest.length > 0) {
    throw new Error(
      'Usage: keys rotate|drop-old token|channel [--force], keys prepare token, or keys trust backup FILE.',
    )
  }
  return inDeployment(deps, async (deployment) => {
    const { changeKeys } = deployment
    if (change === 'rotate' && kind === 'token') await changeKeys(kind, change)
    if (kind === 'token') await signAdminTokenAnew({ ...deployment, dataDir, clock: deps.clock })
    // A channel has two keys at most, so that its rotation drops one, too.
    if (change === 'drop-old' || kind === 'channel') {
      const obstacle = values.force ? null : await obstacleTo(kind, deps, deployment)
      if (obstacle !== null) throw new Error(`${obstacle} --force drops the old keys anyway.`)
      await changeKeys(kind, change)
    }
    print(outcomeOf(change, kind))
    return 0
  })
}

/** Returns sentences about the tokens or the front that would lose access if the old keys were dropped. Null if none would. */
async function obstacleTo(
  kind: 'token' | 'channel',
  { settings, clock }: DeploymentDeps,
  { tokens }: Deployment,
): Promise<string | null> {
  if (kind === 'channel') {
    const usedAt = oldChannelKeyUse(settings.dataDir, clock.now())
    if (usedAt === null) return null
    const when = new Date(usedAt).toISOString()
    return `A front last signed with the old channel key at ${when}. Copy the new key (keys/channel.json) to it, and try again later.`
  }
  const ending = await tokens.endingWithOldKeys()
  if (ending.length === 0) return null
  return `${countOf(ending)} signed with the old keys would stop working: ${ending.slice(0, SHOWN).map(describe).join(', ')}${
    ending.length > SHOWN ? ', …' : ''
  }. Create new tokens for their users, then revoke these or let them expire.`
}

function countOf({ length }: readonly TokenRecord[]): string {
  return length === 1 ? '1 token' : `${length} tokens`
}

function describe({ id, name, expiresAt }: TokenRecord): string {
  return `${name} (${id}, ${expiresAt === null ? 'never expires' : `until ${new Date(expiresAt).toISOString()}`})`
}

function outcomeOf(change: 'rotate' | 'drop-old', kind: 'token' | 'channel'): string {
  if (change === 'drop-old') return `Dropped all ${kind} keys except the newest.`
  const renewed = kind === 'token' ? ' admin.token has a new token.' : ''
  return `Created a new ${kind} key, which now signs. The old key still verifies.${renewed}`
}

async function inDeployment(
  deps: DeploymentDeps,
  work: (deployment: Deployment & HostAccess) => Promise<number>,
): Promise<number> {
  requireDeployment(deps.settings.dataDir)
  try {
    const data = openDeployment(deps, { exclusive: false })
    return await work({ ...data, ...(await openHostAccess(deps, data)) })
  } finally {
    await deps.closers.run(CLOSE_MS)
  }
}

function show(help: string, print: Print): number {
  print(help)
  return 0
}

const TOKEN_HELP = `Usage: token [options]

Creates an access token and prints it. Boxyard shows it only once.

  --name NAME            name in the list of tokens (default: operator)
  --projects A,B | '*'   projects it gives access to (default: '*', all)
  --permissions LIST     any of read, write, exec, ports and admin. None implies another (default: all except admin)
  --expires LIFE         seconds, or a number with s, m, h or d, or never (default: 30d)

To list and revoke tokens: boxyard token ls, boxyard token rm TOKEN`

const RENEW_HELP = `Usage: renew [--revoke]

Writes a new administrator's token to admin.token. It expires in 30 days. The running service renews it every day, so you need
this only after the token was revoked or leaked.

  --revoke  also revoke the old token and all tokens created with it

Without --revoke, the old token works until it expires.`

const KEYS_HELP = `Usage: keys rotate token|channel [--force]
       keys drop-old token|channel [--force]
       keys prepare token
       keys trust backup FILE

rotate    creates a new key that signs, and signs a new admin.token. Old keys still verify (for the channel, only the last one).
drop-old  drops all keys except the newest.
prepare   creates the key for the next rotation. It verifies at once, so that you can copy keys/token-public.json to functions on
          other machines before the rotation.

trust     accepts backups of another deployment, whose keys/backup.json is FILE, so that you can restore them here.

Boxyard refuses to drop a key that a valid token or a front still uses, and names them. --force drops the key anyway.

  token    signs access tokens
  channel  signs what the functions send to the agent
  backup   signs the manifests of backups of data volumes

The running service applies a change within a second.`

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const SHOWN = 10
const SHOWN_CHARACTERS = 80
const CLOSE_MS = 5_000
