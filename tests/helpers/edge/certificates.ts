import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Makes a key and a certificate for 127.0.0.1, signed by `issuer` or itself; writes `<name>.key` and `<name>.crt` to the directory. */
export function makeCertificate(directory: string, name: string, issuer?: string): { cert: string; key: string } {
  const path = (kind: string, of = name): string => join(directory, `${of}.${kind}`)
  const extensions = path('ext')
  writeFileSync(extensions, `subjectAltName=IP:127.0.0.1\nbasicConstraints=CA:${issuer ? 'FALSE' : 'TRUE'}\n`)
  const openssl = (...args: string[]): void => void execFileSync('openssl', args, { stdio: 'pipe' })
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', path('key')]
  openssl('req', ...key, '-subj', `/CN=${name}`, '-out', path('csr'))
  const signer = issuer ? ['-CA', path('crt', issuer), '-CAkey', path('key', issuer)] : ['-signkey', path('key')]
  openssl('x509', '-req', '-in', path('csr'), ...signer, '-days', '2', '-extfile', extensions, '-out', path('crt'))
  return { cert: readFileSync(path('crt'), 'utf8'), key: readFileSync(path('key'), 'utf8') }
}
