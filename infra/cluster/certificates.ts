import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** A certificate authority in a directory: `ca.crt` and `ca.key`. */
export interface Authority {
  /** Writes `<file>.crt` and `<file>.key` for `subject` (`/CN=…`) with one openssl extension, such as `subjectAltName=IP:…`. */
  sign(file: string, subject: string, extension: string): Promise<void>
}

/** Creates an authority with the common name `name` in `directory`, which exists. Its certificates expire in 30 days. */
export async function createAuthority(directory: string, name: string): Promise<Authority> {
  const configuration = join(directory, 'openssl.cnf')
  // Debian's default configuration would mark every certificate as a CA.
  writeFileSync(configuration, '[req]\ndistinguished_name = subject\n[subject]\n')
  const make = async (file: string, subject: string, ...args: string[]): Promise<void> => {
    await openssl([
      ...['req', '-config', configuration, '-x509', '-nodes', '-days', '30', '-subj', subject, ...args],
      ...['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'],
      ...['-keyout', join(directory, `${file}.key`), '-out', join(directory, `${file}.crt`)],
    ])
  }
  await make('ca', `/CN=${name}`, '-addext', 'basicConstraints=critical,CA:TRUE')
  const authority = ['-CA', join(directory, 'ca.crt'), '-CAkey', join(directory, 'ca.key')]
  return { sign: (file, subject, extension) => make(file, subject, ...authority, '-addext', extension) }
}

/** Runs openssl(1). @throws Error if it fails */
export async function openssl(args: readonly string[]): Promise<void> {
  await promisify(execFile)('openssl', args)
}
