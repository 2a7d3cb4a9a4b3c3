import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './commands.ts'
import { layOutClients } from './release/client-tree.ts'
import { packClients } from './release/clients.ts'
import { packExecutable } from './release/executable.ts'
import { archiveTop, packArchive, packDeb, writeBillOfMaterials, writeChecksums } from './release/packages.ts'
import { type Architecture, layOut, nodeOf, readSource } from './release/tree.ts'

/**
 * Makes a release of the current commit in `directory`, and returns its paths. Two builds of one commit are the same bytes. The files are:
 * - a Debian package, an archive with an installer, and checksums
 * - except with `isOfService`: packages of the command line and the TypeScript SDK for npm, the command line as one file, a bill of
 *   materials
 */
async function makeRelease(architecture: Architecture, directory: string, isOfService: boolean): Promise<string[]> {
  const source = readSource(architecture)
  const scratch = mkdtempSync(join(tmpdir(), 'boxyard-release-'))
  try {
    const root = join(archiveTop(source, scratch), 'root')
    mkdirSync(root, { recursive: true })
    layOut(root, source)
    // Packs the archive first, because the package adds its own files.
    const made = [packArchive(source, scratch), packDeb(root, source, scratch)]
    if (!isOfService) {
      const tree = layOutClients(source.commit, scratch)
      const node = nodeOf(root, architecture)
      made.push(...(await packClients(tree, scratch)), packExecutable(source, { tree, node, directory: scratch }))
      made.push(writeBillOfMaterials(source, scratch))
    }
    mkdirSync(directory, { recursive: true })
    const paths = made.map((path) => join(directory, basename(path)))
    for (const [index, path] of paths.entries()) cpSync(made[index] ?? '', path)
    writeChecksums(paths, directory)
    return paths
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** Returns the architecture that a word names, by default this machine's. @throws Error */
export function architectureOf(word: string | undefined): Architecture {
  const own = process.arch === 'arm64' ? 'arm64' : 'amd64'
  const architecture = word ?? own
  if (architecture === 'amd64' || architecture === 'arm64') return architecture
  throw new Error(`usage: npm run release [-- amd64|arm64] [--service]; not ${architecture}`)
}

/**
 * `npm run release [-- amd64|arm64] [--service]` makes a release, or only the service's part, in `dist/release/ARCHITECTURE`, and prints
 * its files.
 */
if (import.meta.main) {
  try {
    const options = { service: { type: 'boolean', default: false } } as const
    const { positionals, values } = parseArgs({ options, allowPositionals: true })
    const architecture = architectureOf(positionals[0])
    const directory = join(ROOT, 'dist/release', architecture)
    const paths = await makeRelease(architecture, directory, values.service)
    process.stdout.write(`${paths.join('\n')}\n`)
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    process.exitCode = 1
  }
}
