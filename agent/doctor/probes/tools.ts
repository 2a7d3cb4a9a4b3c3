import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import type { AgentSettings } from '../../config/agent.ts'
import { CRUN_MIN_VERSION } from '../../drivers/host/crun-version.ts'
import { run } from '../../lib/run.ts'
import type { ToolFacts } from '../facts.ts'

/** Looks for the programs that the agent starts with these settings. `path` is the `PATH` to look in. */
export function probeTools(settings: AgentSettings, path: string): Promise<ToolFacts[]> {
  const { bases, edge, view, runtime } = settings
  const use = { bases, isEmbedded: runtime === 'embedded', hasAcme: edge.acme !== null, hasLxcfs: view.lxcfs }
  const needed = TOOLS.filter(({ isNeeded }) => isNeeded?.(use) ?? true)
  return Promise.all(
    needed.map(async ({ name, package: debian, minVersion, versionArgs }) => {
      const found = findProgram(name, path)
      const version = found === null || versionArgs === undefined ? null : await versionOf(found, versionArgs)
      return { name, package: debian, minVersion: minVersion ?? null, path: found, version }
    }),
  )
}

/** Returns the path of a program in `path`, a list of directories like `PATH`. Null if it is in none. */
function findProgram(name: string, path: string): string | null {
  for (const directory of path.split(delimiter).filter(Boolean)) {
    const candidate = join(directory, name)
    try {
      accessSync(candidate, constants.X_OK)
      if (statSync(candidate).isFile()) return candidate
    } catch {
      // It is in none, or in a later directory.
    }
  }
  return null
}

async function versionOf(program: string, args: readonly string[]): Promise<string | null> {
  try {
    const { stdout, stderr } = await run(program, args, { timeoutMs: TIMEOUT_MS })
    return /\d+\.\d+(\.\d+)?/.exec(`${stdout}\n${stderr}`)?.[0] ?? null
  } catch {
    return null
  }
}

interface Tool {
  name: string
  package: string
  minVersion?: string
  versionArgs?: readonly string[]
  isNeeded?(use: { bases: readonly string[]; isEmbedded: boolean; hasAcme: boolean; hasLxcfs: boolean }): boolean
}

/** Programs that the agent starts. The versions come from Debian 12, the oldest that it runs on. */
const TOOLS: readonly Tool[] = [
  { name: 'crun', package: 'crun', minVersion: CRUN_MIN_VERSION, versionArgs: ['--version'] },
  { name: 'btrfs', package: 'btrfs-progs', minVersion: '6.2', versionArgs: ['--version'] },
  { name: 'mkfs.btrfs', package: 'btrfs-progs' },
  {
    name: 'dnsmasq',
    package: 'dnsmasq-base',
    minVersion: '2.89',
    versionArgs: ['--version'],
    isNeeded: ({ isEmbedded }) => isEmbedded,
  },
  { name: 'haproxy', package: 'haproxy', minVersion: '2.6', versionArgs: ['-v'] },
  { name: 'nft', package: 'nftables', minVersion: '1.0.6', versionArgs: ['--version'] },
  { name: 'catatonit', package: 'catatonit' },
  { name: 'unshare', package: 'util-linux' },
  { name: 'nsenter', package: 'util-linux' },
  { name: 'setpriv', package: 'util-linux' },
  { name: 'mount', package: 'mount' },
  { name: 'zstd', package: 'zstd' },
  { name: 'busybox', package: 'busybox-static', isNeeded: ({ bases }) => bases.includes('busybox') },
  { name: 'mmdebstrap', package: 'mmdebstrap', isNeeded: ({ bases }) => bases.includes('debian') },
  { name: 'lxcfs', package: 'lxcfs', isNeeded: ({ hasLxcfs }) => hasLxcfs },
  { name: 'caddy', package: 'caddy', versionArgs: ['version'], isNeeded: ({ hasAcme }) => hasAcme },
]
const TIMEOUT_MS = 5_000
