import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findMadeOnce } from '../made-once/directory.ts'
import { installFromNpm } from '../made-once/npm.ts'
import { findPythonObstacle, installFromPypi } from '../made-once/python.ts'

/**
 * Finds generators of API clients, and schemathesis, which tests documents. Or installs them from npm and PyPI (a minute) outside the
 * checkout. Returns their directory, with `node_modules` and `python`, or the obstacle.
 */
export async function findClientGenerators(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const hash = createHash('sha256')
  for (const name of FILES) hash.update(readFileSync(join(import.meta.dirname, name)))
  return findMadeOnce({
    name: 'client-generators',
    hash: hash.digest('hex'),
    findObstacle: () => findPythonObstacle('one of the generators'),
    make: async (directory) => {
      say('Installing generators of API clients from npm and PyPI (only this once, a minute)')
      const what = 'generators of API clients'
      await installFromNpm({ what, from: import.meta.dirname, to: directory, runsScripts: false, say })
      const requirements = join(import.meta.dirname, 'requirements.txt')
      await installFromPypi({ what, requirements, directory: join(directory, 'python'), say })
    },
    say,
  })
}

const FILES = ['package.json', 'package-lock.json', 'requirements.txt']
