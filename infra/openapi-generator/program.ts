import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runBuild } from '../made-once/build.ts'
import { findMadeOnce } from '../made-once/directory.ts'

/**
 * Finds openapi-generator, which generates clients in many languages, or downloads it from Maven's repository (30 MB) outside the checkout.
 * Returns the path of its jar, or the obstacle to it or to compiling its Go.
 */
export async function findOpenApiGenerator(say: (text: string) => void): Promise<string | { obstacle: string }> {
  const found = await findMadeOnce({
    name: 'openapi-generator',
    hash: SHA256,
    findObstacle,
    make: async (directory) => {
      say('Fetching openapi-generator by Maven (only this once, a minute)')
      const copy = [`-Dartifact=org.openapitools:${ARTIFACT}:${VERSION}`, `-DoutputDirectory=${directory}`]
      await runBuild({
        what: 'Fetching openapi-generator',
        command: ['mvn', '--quiet', '--batch-mode', COPY, ...copy],
        target: directory,
        network: "Maven's repository (its settings.xml may name a mirror)",
        keeps: "files in Maven's local repository",
        say,
      })
      const sum = createHash('sha256')
        .update(readFileSync(join(directory, JAR)))
        .digest('hex')
      if (sum !== SHA256) throw new Error(`${JAR} has the SHA-256 ${sum}, not ${SHA256}.`)
    },
    say,
  })
  return typeof found === 'string' ? join(found, JAR) : found
}

function findObstacle(): string | null {
  const missing = [
    ['java', '-version'],
    ['mvn', '--version'],
    ['go', 'version'],
  ].filter(([program = '', ...args]) => spawnSync(program, args, { stdio: 'ignore' }).status !== 0)
  const names = missing.map(([program]) => program).join(' and ')
  return missing.length === 0 ? null : `openapi-generator and its clients need ${names}, which is not here`
}

const ARTIFACT = 'openapi-generator-cli'
const VERSION = '7.17.0'
const JAR = `${ARTIFACT}-${VERSION}.jar`
const SHA256 = '25d6bd8273dd2be99979d544b62ea43f0ce1975f1aa582678b5093d1e7fcfce8'
const COPY = 'org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy'
