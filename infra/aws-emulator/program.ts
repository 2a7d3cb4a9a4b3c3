import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findMadeOnce } from '../made-once/directory.ts'
import { findPythonObstacle, installFromPypi } from '../made-once/python.ts'

/**
 * Finds moto, an emulator of AWS's APIs, or installs it from PyPI (a minute) outside the checkout. Returns the Python that runs `serve.py`,
 * or the obstacle.
 */
export async function findAwsEmulator(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const found = await findMadeOnce({
    name: 'aws-emulator',
    hash: createHash('sha256').update(readFileSync(REQUIREMENTS)).digest('hex'),
    findObstacle: () => findPythonObstacle('an emulator of AWS'),
    make: async (directory) => {
      say('Installing an emulator of AWS from PyPI (only this once, a minute)')
      await installFromPypi({ what: 'an emulator of AWS', requirements: REQUIREMENTS, directory, say })
    },
    say,
  })
  return typeof found === 'string' ? join(found, 'bin/python') : found
}

const REQUIREMENTS = join(import.meta.dirname, 'requirements.txt')
