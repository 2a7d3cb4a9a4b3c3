import { findGoProgram } from '../go/program.ts'

/** The program of Let's Encrypt's ACME server for tests, which proves that who asks answers at the name; see `findGoProgram`. */
export function findAcmeServer(say: (text: string) => void): Promise<string | { obstacle: string }> {
  return findGoProgram(
    {
      directory: import.meta.dirname,
      package: 'github.com/letsencrypt/pebble/v2/cmd/pebble',
      what: 'an ACME server',
    },
    say,
  )
}
