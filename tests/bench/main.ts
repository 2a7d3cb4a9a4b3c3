import { createClient } from '../helpers/front/client.ts'
import { startService } from '../helpers/service.ts'
import { benchBackups } from './backups.ts'
import { benchCli } from './cli.ts'
import { benchCluster } from './cluster/sections.ts'
import { benchCompare } from './compare.ts'
import { benchConcurrency } from './concurrency.ts'
import { benchConsole } from './console.ts'
import { BENCH_SETTINGS } from './context.ts'
import { benchCopies } from './copies.ts'
import { benchDiff } from './diff.ts'
import { startDockerPeer } from './docker-peer.ts'
import { benchEdge } from './edge.ts'
import { benchFiles } from './files.ts'
import { benchFleet } from './fleet.ts'
import { benchFork } from './fork.ts'
import { benchForkBurst } from './fork-burst.ts'
import { benchHomes } from './homes.ts'
import { benchLambda } from './lambda.ts'
import { benchLifeCycle } from './life-cycle.ts'
import { benchMounts } from './mounts.ts'
import { benchSoak } from './neighbours/soak.ts'
import { benchAttacks, benchNeighbours, benchTransfers } from './neighbours/table.ts'
import { benchPorts } from './ports.ts'
import { benchReads } from './reads.ts'
import { benchScale } from './scale.ts'
import { benchSecondUp } from './second-up.ts'
import { benchShortcuts } from './shortcuts.ts'
import { benchSnapshots } from './snapshots.ts'
import { benchSsh } from './ssh.ts'
import { benchStreams } from './streams.ts'
import { benchTerminals } from './terminals.ts'
import { benchUpdate } from './update.ts'
import { benchUrls } from './urls.ts'

/** Sections of `npm run bench [section…]` that need a service and docker. */
const SECTIONS = {
  life: benchLifeCycle,
  burst: benchConcurrency,
  reads: benchReads,
  mounts: benchMounts,
  update: benchUpdate,
  forkburst: benchForkBurst,
  scale: benchScale,
  fork: benchFork,
  snapshots: benchSnapshots,
  diff: benchDiff,
  streams: benchStreams,
  files: benchFiles,
  backups: benchBackups,
  urls: benchUrls,
  cli: benchCli,
}

async function main(names: readonly string[]): Promise<void> {
  if (names[0] === 'copies') return benchCopies()
  if (names[0] === 'compare') return benchCompare(names[1])
  if (names[0] === 'transfers') return benchTransfers(names[1])
  if (names[0] === 'soak') return benchSoak(Number(names[1] ?? 60))
  const wants = (name: string): boolean => names.length === 0 || names.includes(name)
  if (wants('lambda')) await benchLambda()
  if (wants('up')) await benchSecondUp()
  if (wants('edge')) await benchEdge()
  if (wants('ports')) await benchPorts()
  if (wants('ssh')) await benchSsh()
  if (wants('terminals')) await benchTerminals()
  if (wants('console')) await benchConsole()
  if (wants('shortcuts')) await benchShortcuts()
  if (wants('neighbours')) await benchNeighbours()
  if (wants('attacks')) await benchAttacks()
  await benchCluster(wants)
  if (wants('fleet')) await benchFleet()
  if (wants('homes')) await benchHomes()
  const sections = Object.entries(SECTIONS).filter(([name]) => wants(name))
  if (sections.length === 0) return
  const docker = await startDockerPeer()
  const service = await startService({
    settings: {
      ...BENCH_SETTINGS,
      BOXYARD_POOL_GB: ['fork', 'files', 'snapshots', 'backups', 'cli'].some(wants) ? '8' : '4',
      BOXYARD_BASES: wants('files') ? 'debian' : '',
    },
  })
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  try {
    for (const [, section] of sections) await section({ service, client, docker })
  } finally {
    await service.close()
    await docker.close()
  }
}

await main(process.argv.slice(2))
