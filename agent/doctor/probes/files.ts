import { lstatSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { AgentSettings } from '../../config/agent.ts'
import type { GuardedFileFacts } from '../facts.ts'
import { look } from './look.ts'

/** Looks at the modes of the data directory, its contents, and the files that settings name. */
export async function probeFiles(settings: AgentSettings): Promise<GuardedFileFacts[]> {
  const { dataDir } = settings
  const wanted: Wanted[] = [
    ...ancestorsOf(dataDir).map((path) => ({ path, allowed: PARENT, required: 0, neededBy: null })),
    { path: settings.runRoot, allowed: 0o755, required: 0o111, neededBy: null },
    { path: dataDir, allowed: 0o700, required: 0o700, neededBy: null },
    { path: join(dataDir, 'keys'), allowed: 0o700, required: 0o700, neededBy: null },
    ...[...OWN_FILES, ...keyFilesIn(join(dataDir, 'keys'))].map((name) => ({
      ...{ path: join(dataDir, name), allowed: 0o600, required: 0o400, neededBy: null },
    })),
    ...namedFiles(settings),
  ]
  return Promise.all(
    wanted.map(async (each) => ({
      ...each,
      found: await look(() => {
        const stat = statSync(each.path, { throwIfNoEntry: false })
        if (stat === undefined) return null
        return { mode: stat.mode & 0o7777, uid: stat.uid, isDirectory: stat.isDirectory() }
      }),
    })),
  )
}

type Wanted = Omit<GuardedFileFacts, 'found'>

function ancestorsOf(path: string): string[] {
  const parent = dirname(path)
  return parent === path ? [] : [parent, ...ancestorsOf(parent)]
}

function keyFilesIn(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => lstatSync(join(directory, name)).isFile())
      .map((name) => join('keys', name))
  } catch {
    // There are none yet, or only root sees them.
    return []
  }
}

function namedFiles({ channelTls, data, edge, backups, runtime, kubernetes }: AgentSettings): Wanted[] {
  const secret = (path: string, neededBy: string): Wanted => ({ path, allowed: 0o640, required: 0o400, neededBy })
  const open = (path: string, neededBy: string): Wanted => ({ path, allowed: 0o755, required: 0o400, neededBy })
  return [
    ...(channelTls
      ? [secret(channelTls.key, 'BOXYARD_CHANNEL_KEY'), open(channelTls.cert, 'BOXYARD_CHANNEL_CERT')]
      : []),
    ...(channelTls ? [open(channelTls.ca, 'BOXYARD_CHANNEL_CA')] : []),
    ...(data.tls ? [secret(data.tls.key, 'BOXYARD_DATA_KEY'), open(data.tls.cert, 'BOXYARD_DATA_CERT')] : []),
    ...(edge.certificates ? certificates(edge.certificates) : []),
    ...(edge.acme?.root ? [open(edge.acme.root, 'BOXYARD_EDGE_ACME_ROOT')] : []),
    ...(backups.s3 ? [secret(backups.s3.keyFile, 'BOXYARD_BACKUP_S3_KEY_FILE')] : []),
    ...(runtime === 'kubernetes' ? [secret(kubernetes.kubeconfig, 'BOXYARD_KUBECONFIG')] : []),
  ]
}

// Each file holds a certificate with its key.
function certificates(directory: string): Wanted[] {
  const neededBy = 'BOXYARD_EDGE_CERTIFICATES'
  const names = ((): string[] => {
    try {
      return readdirSync(directory).filter((name) => name.endsWith('.pem'))
    } catch {
      return []
    }
  })()
  return [
    { path: directory, allowed: 0o755, required: 0o500, neededBy },
    ...names.map((name) => ({ path: join(directory, name), allowed: 0o640, required: 0o400, neededBy })),
  ]
}

/** Mode of directories above, so that only root may rename their entries. */
const PARENT = 0o755
const OWN_FILES = [
  'admin.token',
  'boxyard.db',
  'boxyard.db-wal',
  'boxyard.db-shm',
  'instance',
  'lock',
  'metrics.db',
  'pool.img',
]
