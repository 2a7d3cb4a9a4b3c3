import { mkdirSync } from 'node:fs'
import { createAuthority } from '../cluster/certificates.ts'
import type { RigCell } from './cells.ts'

/** Creates the certificates by which the agents and fronts of a fleet authenticate each other, in `directory`. They expire in 30 days. */
export async function writeChannelCertificates(directory: string, cells: readonly RigCell[]): Promise<void> {
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const { sign } = await createAuthority(directory, 'boxyard-fleet')
  await Promise.all(cells.map(({ cell, address }) => sign(cell, `/CN=${cell}`, `subjectAltName=IP:${address}`)))
}
