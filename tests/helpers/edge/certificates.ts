import { execFileSync } from 'node:child_process'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Creates a key and a certificate for 127.0.0.1, signed by `issuer` or self-signed. Writes them as `<name>.key` and `<name>.crt`. */
export function makeCertificate(directory: string, name: string, issuer?: string): { cert: string; key: string } {
  const usage = `basicConstraints=CA:${issuer ? 'FALSE' : 'TRUE'}`
  return certify({ directory, name, issuer, extensions: `subjectAltName=IP:127.0.0.1\n${usage}\n` })
}

/**
 * Creates a CA and a certificate for all hosts below `domain` in `<directory>/made`. Returns the settings of an edge that serves the
 * certificate, and the hash of its key for Chromium to trust.
 */
export function encryptDomain(directory: string, domain: string): { settings: Record<string, string>; trust: string } {
  const made = join(directory, 'made')
  const served = join(made, 'served')
  mkdirSync(served, { recursive: true })
  const { cert, key } = certifyHosts(made, 'edge', [`*.${domain}`])
  writeFileSync(join(served, 'edge.pem'), `${cert}${key}`)
  const publicKey = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' })
  return {
    settings: { BOXYARD_EDGE_CERTIFICATES: served, BOXYARD_DOMAIN: domain },
    trust: createHash('sha256').update(publicKey).digest('base64'),
  }
}

/** Creates a CA in `<directory>/authority.crt` and a certificate of that CA, `<name>.crt`, for these hosts. `*.` matches one label. */
export function certifyHosts(directory: string, name: string, hosts: readonly string[]): { cert: string; key: string } {
  makeCertificate(directory, 'authority')
  const names = hosts.map((host) => `DNS:${host}`).join(',')
  const extensions = `subjectAltName=${names}\nbasicConstraints=CA:FALSE\nextendedKeyUsage=serverAuth\n`
  return certify({ directory, name, issuer: 'authority', extensions })
}

interface Wanted {
  directory: string
  name: string
  issuer: string | undefined
  extensions: string
}

function certify({ directory, name, issuer, extensions }: Wanted): { cert: string; key: string } {
  const path = (kind: string, of = name): string => join(directory, `${of}.${kind}`)
  writeFileSync(path('ext'), extensions)
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', path('key')]
  openssl('req', ...key, '-subj', `/CN=${name}`, '-out', path('csr'))
  const signer = issuer ? ['-CA', path('crt', issuer), '-CAkey', path('key', issuer)] : ['-signkey', path('key')]
  openssl('x509', '-req', '-in', path('csr'), ...signer, '-days', '2', '-extfile', path('ext'), '-out', path('crt'))
  return { cert: readFileSync(path('crt'), 'utf8'), key: readFileSync(path('key'), 'utf8') }
}
