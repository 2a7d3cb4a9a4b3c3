import { execFileSync, spawnSync } from 'node:child_process'
import { networkInterfaces } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { linksOf } from './node-space.ts'
import type { ClusterRecord } from './record.ts'

/** Returns the name of the pods' network, by which CNI plugins store their state. */
export function podNetwork(name: string): string {
  return `boxyard-cluster-${name}`
}

/** Masquerades pod traffic that leaves the subnet, in the cluster's own nft table. */
export function createMasquerade({ name, subnet }: ClusterRecord): void {
  const table = tableOf(name)
  const lines = [
    ...[`table ip ${table}`, `delete table ip ${table}`, `table ip ${table} {`, 'chain postrouting {'],
    'type nat hook postrouting priority srcnat',
    `ip saddr ${subnet} ip daddr != ${subnet} masquerade`,
    ...['}', '}'],
  ]
  execFileSync('nft', ['-f', '-'], { input: `${lines.join('\n')}\n` })
}

export function destroyMasquerade(name: string): void {
  // Fails if the table does not exist.
  spawnSync('nft', ['delete', 'table', 'ip', tableOf(name)], { stdio: 'ignore' })
}

/**
 * Deletes the links of a cluster's nodes. Waits until the kernel has removed the host ends of the pods' veth pairs, which it does after the
 * pods. Deletes links that stay.
 */
export async function destroyLinks(record: ClusterRecord): Promise<void> {
  const { subnet } = record
  // A link may be gone with its node, or was never created.
  for (const link of linksOf(record)) spawnSync('ip', ['link', 'delete', link], { stdio: 'ignore' })
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const links = findLinks(subnet)
    if (links.length === 0) return
    if (performance.now() > deadline) {
      for (const link of links) spawnSync('ip', ['link', 'delete', link], { stdio: 'ignore' })
      return
    }
    await sleep(20)
  }
}

/** Finds the host ends by the gateway's address, the first of the subnet. */
function findLinks(subnet: string): string[] {
  const gateway = subnet.replace(/\.0\/\d+$/, '.1')
  return Object.entries(networkInterfaces()).flatMap(([link, addresses]) =>
    addresses?.some(({ address }) => address === gateway) ? [link] : [],
  )
}

function tableOf(name: string): string {
  return `boxyard_cluster_${name.replaceAll('-', '_')}`
}

const PATIENCE_MS = 2_000
