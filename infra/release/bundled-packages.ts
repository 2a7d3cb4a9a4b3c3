import { existsSync, globSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * Removes the packages below `lib` that only the command line uses, because its bundle has them. Also removes packages that no other
 * package needs.
 * @throws Error for a package that `lib` does not depend on
 */
export function dropBundledPackages(lib: string): void {
  const { dependencies = {}, optionalDependencies = {} } = readManifest(lib)
  const unknown = OF_COMMAND_LINE.filter((name) => !(name in dependencies))
  if (unknown.length > 0)
    throw new Error(`There is no dependency ${unknown.join(', ')} that a release could leave out.`)
  const roots = Object.keys({ ...dependencies, ...optionalDependencies }).filter((name) => !BUNDLED.has(name))
  const needed = new Set<string>()
  for (const name of roots) addNeeded(lib, { from: lib, name }, needed)
  for (const directory of topPackages(lib)) if (!needed.has(directory)) rmSync(directory, { recursive: true })
  // A scope without packages, and programs of packages that are gone.
  for (const entry of globSync(join(lib, 'node_modules/@*')))
    if (readdirSync(entry).length === 0) rmSync(entry, { recursive: true })
  const programs = join(lib, 'node_modules/.bin')
  for (const name of readdirSync(programs)) if (!existsSync(join(programs, name))) rmSync(join(programs, name))
}

/** Adds the directory of a package, as Node.js finds it from `from`, and of its dependencies. A package that was not installed has none. */
function addNeeded(lib: string, { from, name }: { from: string; name: string }, needed: Set<string>): void {
  let place = from
  while (!existsSync(join(place, 'node_modules', name, 'package.json'))) {
    if (place === lib) return
    place = dirname(place)
  }
  const directory = join(place, 'node_modules', name)
  if (needed.has(directory)) return
  needed.add(directory)
  const { dependencies, optionalDependencies, peerDependencies } = readManifest(directory)
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }))
    addNeeded(lib, { from: directory, name: each }, needed)
}

function topPackages(lib: string): string[] {
  return globSync(['node_modules/[!.@]*', 'node_modules/@*/*'], { cwd: lib }).map((name) => join(lib, name))
}

interface Manifest {
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
}

function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest
}

/** Dependencies that only the sources of the command line and its SDK import. */
const OF_COMMAND_LINE = [
  '@clack/prompts',
  'chokidar',
  'commander',
  'ignore',
  'openapi-fetch',
  'smol-toml',
  'ssh2',
  'yaml',
]
const BUNDLED: ReadonlySet<string> = new Set(OF_COMMAND_LINE)
