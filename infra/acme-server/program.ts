import { findGoProgram } from '../go/program.ts'

/**
 * Finds or builds Pebble, Let's Encrypt's ACME server for tests, which validates that the client controls the name. See `findGoProgram`.
 */
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
