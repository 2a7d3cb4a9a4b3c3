import { Resolver } from 'node:dns/promises'
import type { AgentSettings } from '../../config/agent.ts'
import { lentNumbers } from '../../drivers/network/claim.ts'
import { readResolvers } from '../../drivers/network/host.ts'
import { findNetworkProblems } from '../../drivers/network/problems.ts'
import { run } from '../../lib/run.ts'
import type { NetworkFacts } from '../facts.ts'
import { look, seenOr } from './look.ts'

/** Looks at the packet filter, at what else filters or forwards packets of boxes on the host, and at the nameservers that boxes use. */
export async function probeNetwork({ network, runtime }: AgentSettings, isRoot: boolean): Promise<NetworkFacts> {
  const { subnet, egress, dns } = network
  const resolvers = await look(() => readResolvers(dns).nameservers)
  const nameservers = seenOr(resolvers, [] as string[])
  return {
    nft: await look(listTables),
    problems: await look(() => {
      if (!isRoot) throw new Error('only root reads them')
      return runtime === 'embedded' ? findNetworkProblems({ subnet, egress, nameservers }) : []
    }),
    nameservers: await look(() =>
      Promise.all(nameservers.map(async (address) => ({ address, answered: await answers(address) }))),
    ),
    lentNumbers: runtime === 'embedded' ? lentNumbers() : [],
  }
}

async function listTables(): Promise<{ isUsable: boolean; output: string }> {
  const { exitCode, stdout, stderr } = await run('nft', ['list', 'tables'], { timeoutMs: TIMEOUT_MS })
  return { isUsable: exitCode === 0, output: (exitCode === 0 ? stdout : stderr).trim() }
}

/** Any answer counts, even that there is no such name. */
async function answers(address: string): Promise<boolean> {
  const resolver = new Resolver({ timeout: TIMEOUT_MS / 2, tries: 2 })
  resolver.setServers([address])
  try {
    await resolver.resolve4('example.org')
    return true
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException
    return !SILENCES.has(code)
  }
}

const SILENCES: ReadonlySet<string> = new Set(['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED', 'ENETUNREACH'])
const TIMEOUT_MS = 4_000
