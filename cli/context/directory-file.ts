import { lstatSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parse, stringify } from 'smol-toml'
import { readRegularFile } from '../files/regular-file.ts'
import { UsageError } from '../output/failures.ts'
import { checkBoxName, checkContextName, checkProjectName } from './names.ts'

/** Defaults that a `.boxyard` file sets for its directory and the directories below. */
export interface DirectoryDefaults {
  project?: string | undefined
  box?: string | undefined
  context?: string | undefined
}

/** The `.boxyard` file that applies to a directory. */
export interface DirectoryFile extends DirectoryDefaults {
  /** Null if there is none. */
  path: string | null
  /** Skipped files of other users. */
  ignored: readonly string[]
}

/**
 * Reads the nearest `.boxyard` file at or above `directory` that belongs to the user, as git does (`safe.directory`). A user who can create
 * files above a directory must not choose where its commands go.
 * @throws UsageError if it is not a file, is not TOML, or names nothing
 */
export function readDirectoryFile(directory: string): DirectoryFile {
  const ignored: string[] = []
  for (let at = directory; ; at = dirname(at)) {
    const path = join(at, NAME)
    const target = statSync(path, { throwIfNoEntry: false })
    if (target !== undefined) {
      // The user must own both the link and its target.
      if (isOwn(lstatSync(path).uid) && isOwn(target.uid)) return { ...readDefaults(path), path, ignored }
      ignored.push(path)
    }
    if (dirname(at) === at) return { path: null, ignored }
  }
}

/** Changes or creates the `.boxyard` file of a directory. Replaces a link there. @throws UsageError if it cannot read the file */
export function writeDirectoryDefaults(directory: string, changes: DirectoryDefaults): void {
  const path = join(directory, NAME)
  const before = statSync(path, { throwIfNoEntry: false }) === undefined ? {} : readTable(path)
  const draft = `${path}.${process.pid}`
  writeFileSync(draft, `${stringify({ ...before, ...changes }).trimEnd()}\n`, { flag: 'wx' })
  renameSync(draft, path)
}

function readDefaults(path: string): DirectoryDefaults {
  const { project, box, context } = readTable(path)
  const checked = (
    name: string,
    value: unknown,
    check: (text: string, source: string) => string,
  ): string | undefined => {
    if (value === undefined) return undefined
    if (typeof value !== 'string') throw new UsageError(`${path}: ${name}: must be a string in quotes.`)
    return check(value, path)
  }
  return {
    project: checked('project', project, checkProjectName),
    box: checked('box', box, checkBoxName),
    context: checked('context', context, checkContextName),
  }
}

function readTable(path: string): Record<string, unknown> {
  const text = readRegularFile(path)
  try {
    return parse(text)
  } catch (error) {
    // Its other lines could reveal the file.
    const [reason = ''] = error instanceof Error ? error.message.split('\n') : []
    throw new UsageError(`${path}: ${reason}`)
  }
}

/** Reports whether the user owns a file with this user id. After sudo, the files of the original user count too. Windows has no user ids. */
function isOwn(uid: number): boolean {
  const user = process.geteuid?.()
  if (user === undefined || uid === user) return true
  return user === 0 && String(uid) === process.env['SUDO_UID']
}

const NAME = '.boxyard'
