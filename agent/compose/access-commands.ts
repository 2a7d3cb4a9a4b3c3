import { parseArgs } from 'node:util'
import { type CreateTokenBody, createTokenBodySchema } from '../../shared/schemas/access.ts'
import { oldChannelKeyUse, trustBackupKeys } from '../lib/disk/key-files.ts'
import type { TokenRecord } from '../ports/store/tokens.ts'
import { replaceAdminToken, signAdminTokenAnew } from './admin-token.ts'
import { type Deployment, type DeploymentDeps, openDeployment, requireDeployment } from './deployment.ts'
import { openHostAccess } from './fleet.ts'
import { askRunningAgent } from './reload.ts'
import type { HostAccess } from './tokens.ts'

type Print = (text: string) => void

/** `token …`: issues a token to the operator of the host, and prints it. `TOKEN_HELP` tells of the options. */
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
  const parsed = createTokenBodySchema.safeParse({
    name,
    projects: projects === '*' ? '*' : projects.split(','),
    permissions: permissions.split(','),
    expires_in_seconds: parseLife(expires),
  })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const flag = issue?.path[0] === 'expires_in_seconds' ? 'expires' : String(issue?.path[0] ?? '')
  throw new Error(`--${flag}: ${issue?.message ?? 'not valid'}.`)
}

/** Returns seconds, or null for `never`. @throws Error */
function parseLife(text: string): number | null {
  if (text === 'never') return null
  const [, count, unit = 's'] = /^(\d{1,9})([smhd])?$/.exec(text) ?? []
  if (count === undefined) throw new Error('--expires: Expected seconds, or a number with s, m, h or d, or never.')
  return Number(count) * (SECONDS[unit] ?? 1)
}

/** `renew [--revoke]`: puts another administrator's token into `admin.token`. `RENEW_HELP` tells of the option. */
export async function runRenewCommand(deps: DeploymentDeps, args: readonly string[], print: Print): Promise<number> {
  const { values } = parseArgs({
    args: [...args],
    options: { revoke: { type: 'boolean', default: false }, help: { type: 'boolean', short: 'h', default: false } },
  })
  if (values.help) return show(RENEW_HELP, print)
  const { clock, settings } = deps
  const { dataDir } = settings
  requireDeployment(dataDir)
  // A running agent does it itself, since its edge has to forget what the old token opened.
  const answer = await askRunningAgent(settings, { kind: 'renew', revokes: values.revoke })
  const finish = (endsAt: number): number => {
    print(`${dataDir}/admin.token holds a new token, until ${new Date(endsAt).toISOString()}.`)
    return 0
  }
  if (typeof answer === 'number') return finish(answer)
  return inDeployment(deps, async (deployment) =>
    finish(await replaceAdminToken({ ...deployment, dataDir, clock }, { revokes: values.revoke })),
  )
}

/** `keys rotate|drop-old token|channel [--force]`, `keys prepare token`, `keys trust backup FILE`: the running service sees the change within a second. */
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
      return show('The next token key verifies; `keys rotate token` makes it sign.', print)
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
      'Expected: keys rotate|drop-old token|channel [--force], keys prepare token, or keys trust backup FILE.',
    )
  }
  return inDeployment(deps, async (deployment) => {
    const { changeKeys } = deployment
    if (change === 'rotate' && kind === 'token') await changeKeys(kind, change)
    if (kind === 'token') await signAdminTokenAnew({ ...deployment, dataDir, clock: deps.clock })
    // A channel has two keys at most, so that its rotation drops one, too.
    if (change === 'drop-old' || kind === 'channel') {
      const obstacle = values.force ? null : await obstacleTo(kind, deps, deployment)
      if (obstacle !== null) throw new Error(`${obstacle} With --force the old keys are dropped all the same.`)
      await changeKeys(kind, change)
    }
    print(outcomeOf(change, kind))
    return 0
  })
}

/** Returns what would be locked out by dropping the old keys, as sentences; null if nothing would. */
async function obstacleTo(
  kind: 'token' | 'channel',
  { settings, clock }: DeploymentDeps,
  { tokens }: Deployment,
): Promise<string | null> {
  if (kind === 'channel') {
    const usedAt = oldChannelKeyUse(settings.dataDir, clock.now())
    if (usedAt === null) return null
    const when = new Date(usedAt).toISOString()
    return `A front still signed with the old channel key at ${when}: give it the new one (keys/channel.json), and try again later.`
  }
  const ending = await tokens.endingWithOldKeys()
  if (ending.length === 0) return null
  return `${countOf(ending)} signed with the old keys would end: ${ending.slice(0, SHOWN).map(describe).join(', ')}${
    ending.length > SHOWN ? ', …' : ''
  }. Mint others for their users, and revoke these or let them expire.`
}

function countOf({ length }: readonly TokenRecord[]): string {
  return length === 1 ? '1 token' : `${length} tokens`
}

function describe({ id, name, expiresAt }: TokenRecord): string {
  return `${name} (${id}, ${expiresAt === null ? 'never expires' : `until ${new Date(expiresAt).toISOString()}`})`
}

function outcomeOf(change: 'rotate' | 'drop-old', kind: 'token' | 'channel'): string {
  if (change === 'drop-old') return `Only the newest ${kind} key is left.`
  const renewed = kind === 'token' ? ' What admin.token holds is signed with it.' : ''
  return `A new ${kind} key signs; the old one still verifies.${renewed}`
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

Issues an access token and prints it; it is shown only once.

  --name NAME            what it is listed as (default: operator)
  --projects A,B | '*'   projects it gives access to (default: '*', all)
  --permissions LIST     of read, write, exec, ports, admin; none implies another (default: all but admin)
  --expires LIFE         seconds, or a number with s, m, h or d, or never (default: 30d)

Tokens are listed and revoked over the API: GET /v1/tokens, DELETE /v1/tokens/{token}.`

const RENEW_HELP = `Usage: renew [--revoke]

Puts a new administrator's token into admin.token, which ends in 30 days. The running service renews it every day, so
this is for one that was revoked, or has become known.

  --revoke  revokes the token that was there, and every token that was minted with it

Without it the old one works until its end.`

const KEYS_HELP = `Usage: keys rotate token|channel [--force]
       keys drop-old token|channel [--force]
       keys prepare token
       keys trust backup FILE

rotate    makes a new key, which signs from then on; the old ones still verify (of the channel, the last one), and
          admin.token is signed anew.
drop-old  drops all keys but the newest.
prepare   makes the key that the next rotation lets sign, and that verifies from now on: for functions on other machines, which
          get keys/token-public.json before the rotation.

trust     lets the keys in FILE, the keys/backup.json of another deployment, verify backups as well, so that they can be restored here.

What would lock somebody out is refused, and named: live tokens signed with a key to be dropped, or a front that still
signs with one. --force drops them all the same.

  token    signs access tokens
  channel  signs what the functions send to the agent
  backup   signs the manifests of backups of data volumes

The running service sees a change within a second.`

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 }
const SHOWN = 10
const CLOSE_MS = 5_000
