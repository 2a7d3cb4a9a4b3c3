import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as module from 'node:module'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { Script } from 'node:vm'

/** A CommonJS file that has run, with its exports. */
export interface LoadedFile {
  exports: unknown
  /** Stores the code that is compiled now for later runs of this command, unless an earlier run did so. */
  keepCompiled(verb: string): void
}

/**
 * Runs a file with compiled code from the user's cache, including all functions that earlier runs have called. Node.js's own cache omits
 * those functions, and compiling them takes longer than the rest of a short command. Node.js (≥ 22.8) caches the modules that the file
 * requires. Without such a cache, or a directory that only this user can write, the file still runs.
 */
export function loadCompiled(file: string, environment: NodeJS.ProcessEnv): LoadedFile {
  const directory = join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'boxyard')
  const isKept = isOwn(directory)
  if (isKept) {
    makePrivate(directory)
    module.enableCompileCache?.(directory)
  }
  const path = join(directory, `${basename(file)}-${process.version}-${process.arch}`)
  const source = readFileSync(file)
  const kept = isKept ? readKept(path, source) : null
  // A bundle is ASCII, which also takes one byte for each character in the engine.
  const script = new Script(`${PARAMETERS}{${source.toString('latin1')}\n})`, {
    filename: file,
    ...(kept === null ? {} : { cachedData: kept.code }),
  })
  const verbs = kept === null || script.cachedDataRejected === true ? [] : kept.verbs
  const loaded = { exports: {} }
  const run = script.runInThisContext() as RunModule
  run(loaded.exports, module.createRequire(file), loaded, file, dirname(file))
  return {
    exports: loaded.exports,
    keepCompiled: (verb) => {
      if (isKept && !verbs.includes(verb))
        writeKept(path, source, { verbs: [...verbs, verb], code: script.createCachedData() })
    },
  }
}

type RunModule = (...values: unknown[]) => void

interface Kept {
  /** Commands that had run when the cache was written. */
  verbs: string[]
  code: Buffer
}

// The engine itself compares only the length of the source, so the cache also holds the source, before the code. Code with a flipped bit
// can crash the engine at each run. The cache therefore holds it twice, which costs less than loading a checksum function.
function readKept(path: string, source: Buffer): Kept | null {
  try {
    const kept = readFileSync(path)
    const sourceAt = kept.indexOf('\n') + 1
    const codeAt = sourceAt + source.length
    const copyAt = codeAt + (kept.length - codeAt) / 2
    const isWhole = kept.compare(source, 0, source.length, sourceAt, codeAt) === 0
    if (!isWhole || kept.compare(kept, copyAt, kept.length, codeAt, copyAt) !== 0) return null
    return { verbs: JSON.parse(kept.toString('latin1', 0, sourceAt)) as string[], code: kept.subarray(codeAt, copyAt) }
  } catch {
    return null
  }
}

// Node.js would make it writable for all users if the umask allows it.
function makePrivate(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch {
    // The disk is full or read-only.
  }
}

// Writes all or nothing, even across a power cut, because the engine would run whatever it finds. The last writer wins.
function writeKept(path: string, source: Buffer, { verbs, code }: Kept): void {
  // In a home directory that containers share, two processes can have the same PID.
  const draft = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  try {
    const file = openSync(draft, 'wx', 0o600)
    writeFileSync(file, Buffer.concat([Buffer.from(`${JSON.stringify(verbs)}\n`), source, code, code]))
    fsyncSync(file)
    closeSync(file)
    renameSync(draft, path)
  } catch {
    // The disk is full or read-only.
    rmSync(draft, { force: true })
  }
}

// The engine would run files that other users put there. The directory, or its nearest existing parent, must therefore belong to this user
// only.
function isOwn(directory: string): boolean {
  try {
    let at = directory
    while (!existsSync(at) && dirname(at) !== at) at = dirname(at)
    const { uid, mode } = statSync(at)
    return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0
  } catch {
    return false
  }
}

const PARAMETERS = '(function (exports, require, module, __filename, __dirname) '
const WRITABLE_BY_OTHERS = 0o002
