import { findGoProgram } from '../go/program.ts'

/** The program of an S3-speaking server that checks signatures; see `findGoProgram`. It is built in some three minutes on two cores. */
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
