import { findGoProgram } from '../go/program.ts'

/** Finds or builds an S3-compatible server that verifies signatures (three minutes on two cores). See `findGoProgram`. */
export function findObjectStore(say: (text: string) => void): Promise<string | { obstacle: string }> {
  return findGoProgram(
    {
      directory: import.meta.dirname,
      package: 'github.com/versity/versitygw/cmd/versitygw',
      what: 'an S3-speaking server',
    },
    say,
  )
}
