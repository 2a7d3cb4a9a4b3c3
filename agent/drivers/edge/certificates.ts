import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A certificate with its chain, and its key. */
export interface PemPair {
  certificate: string
  key: string
}

/**
 * Reads the pairs of a directory as HAProxy does. Each file holds a certificate. Its key is in the same file or in `<file>.key`.
 * @throws Error that names a file without certificate or key
 */
export function readPemPairs(directory: string): PemPair[] {
  const names = readdirSync(directory).sort()
  return names
    .filter((name) => !name.startsWith('.') && !BESIDE.test(name))
    .map((name) => {
      const text = readFileSync(join(directory, name), 'utf8')
      const beside = names.includes(`${name}.key`) ? readFileSync(join(directory, `${name}.key`), 'utf8') : ''
      const certificate = text.match(CERTIFICATES)?.join('\n')
      const key = KEY.exec(`${text}\n${beside}`)?.[0]
      if (certificate === undefined || key === undefined) {
        throw new Error(`${join(directory, name)} has no certificate, or no key next to it.`)
      }
      return { certificate, key }
    })
}

/** Returns a directory with the fingerprint of its files. */
export function readCertificates(directory: string): { directory: string; fingerprint: string } {
  const names = readdirSync(directory).sort()
  return { directory, fingerprint: fingerprintOf(names.map((name) => join(directory, name))) }
}

/** Hashes names and contents of files. */
export function fingerprintOf(paths: readonly string[]): string {
  const hash = createHash('sha256')
  for (const path of paths) hash.update(`${path}\0`).update(readFileSync(path))
  return hash.digest('hex')
}

const BESIDE = /\.(key|issuer|ocsp|sctl)$/
const CERTIFICATES = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
const KEY = /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[^-]+-----END ([A-Z]+ )?PRIVATE KEY-----/
