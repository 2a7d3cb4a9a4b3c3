import { HOST_IDS, INSTANCES_MAX } from '../../drivers/network/slots.ts'
import type { Facts } from '../facts.ts'
import { areaOf, type Finding } from '../findings.ts'

/** Checks the packet filter, the host's handling of boxes' packets, and nameservers. Pure. */
export function checkNetwork({ network, kernel, service, settings }: NetworkInput): Finding[] {
  return [
    ...checkFilter({ network, kernel }),
    ...checkProblems(network, service),
    ...checkIds(network),
    ...checkNames(network, settings),
  ]
}

type NetworkInput = Pick<Facts, 'network' | 'kernel' | 'service' | 'settings'>

function checkFilter({ network, kernel }: Pick<Facts, 'network' | 'kernel'>): Finding[] {
  const { nft } = network
  if ('hidden' in nft) return [NETWORK.unknown('nftables', nft.hidden)]
  if (nft.value.isUsable) {
    const count = nft.value.output.split('\n').filter(Boolean).length
    return [NETWORK.ok(`nftables works. The host has ${count} ${count === 1 ? 'table' : 'tables'}.`)]
  }
  if (/not permitted|denied|must be root/i.test(nft.value.output))
    return [NETWORK.unknown('nftables', nft.value.output)]
  const module = kernel.modules.nf_tables
  const canLoad = 'value' in module && module.value
  return [
    NETWORK.problem({
      code: 'nft_unusable',
      evidence: `nft list tables failed: ${nft.value.output}`,
      remedy: canLoad
        ? 'Load the module: modprobe nf_tables.'
        : 'Use a kernel with nf_tables, such as the Debian kernel. Boxyard isolates boxes with it.',
      ...(canLoad ? { fix: { kind: 'modprobe', module: 'nf_tables' } } : {}),
    }),
  ]
}

function checkProblems({ problems }: Facts['network'], { holder }: Facts['service']): Finding[] {
  if ('hidden' in problems) return [NETWORK.unknown('Rules and routes of the host', problems.hidden)]
  // The agent turns forwarding on when it starts.
  const isRunning = 'value' in holder && holder.value !== null
  const found = problems.value.filter(({ code }) => isRunning || code !== 'forwarding_off')
  if (found.length === 0)
    return [NETWORK.ok('No rule of the host drops packets of boxes, and no route uses their addresses.')]
  return found.map(({ code, evidence, remedy }) =>
    NETWORK.problem({ code: 'network', evidence: `${code}: ${evidence}.`, remedy }),
  )
}

/** Checks that no user of the host can get the host ids of boxes' processes. */
function checkIds({ lentNumbers }: Facts['network']): Finding[] {
  if (lentNumbers.length === 0) return []
  const which = lentNumbers.length === INSTANCES_MAX ? 'all' : `${lentNumbers.length}`
  const fault = {
    code: 'ids_lent',
    evidence: `Ranges in /etc/subuid or /etc/subgid overlap the host ids of ${which} of the ${INSTANCES_MAX} instances of Boxyard that a host can have.`,
    remedy: `Move these ranges out of ${HOST_IDS.start}–${HOST_IDS.end - 1}.`,
  } as const
  return [which === 'all' ? NETWORK.problem(fault) : NETWORK.note(fault)]
}

function checkNames({ nameservers }: Facts['network'], { agent }: Facts['settings']): Finding[] {
  if (!agent.network.egress) return [DNS.ok('BOXYARD_EGRESS=false blocks nameservers for boxes.')]
  if ('hidden' in nameservers) return [DNS.unknown('Nameservers', nameservers.hidden)]
  // The network's own problems report that there is none.
  if (nameservers.value.length === 0) return []
  const silent = nameservers.value.filter(({ answered }) => !answered).map(({ address }) => address)
  const all = nameservers.value.map(({ address }) => address).join(', ')
  if (silent.length === 0)
    return [DNS.ok(`Boxes use ${all}, which ${nameservers.value.length === 1 ? 'answers' : 'answer'}.`)]
  const fault = {
    code: 'dns_silent',
    evidence: `No answer within 4 s from ${silent.join(', ')}.`,
    remedy: 'Fix the nameserver in /etc/resolv.conf, or set others for boxes: BOXYARD_DNS=192.0.2.1,192.0.2.2.',
  } as const
  return [silent.length === nameservers.value.length ? DNS.problem(fault) : DNS.note(fault)]
}

const NETWORK = areaOf('network')
const DNS = areaOf('dns')
