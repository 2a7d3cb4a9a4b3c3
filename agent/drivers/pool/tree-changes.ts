import type { ChangeKind } from '../../ports/pool/tree-changes.ts'
import type { RawPath } from '../files/paths.ts'
import { SEND, type SendCommand, SendStreamError, type SendTime } from './send-stream.ts'

/** A difference between two trees, derived only from their names. Paths are absolute, with one character for each byte. */
export interface FoundChange {
  kind: ChangeKind
  /** Path in the later tree, or in the earlier one if deleted. */
  path: RawPath
  /** Path in the earlier tree, if it differs from `path`. */
  from: RawPath | null
  /** True if content or attributes changed. For an added file, true if it is a new name of a file of the earlier tree that changed. */
  isModified: boolean
  /** Path in the earlier tree of a file that is gone and that this one replaces, else null. The caller compares the two. */
  replaced: RawPath | null
  /** Modification time, if only that may have changed. The caller compares it with the earlier tree. */
  touched: SendTime | null
}

/** Derives the difference of two trees from the commands that turn the earlier into the later. */
export interface TreeModel {
  /** @throws SendStreamError for a command that no valid stream has, RangeError for more names than the limit */
  apply(command: SendCommand): void
  /** Yields the net difference, in no order. */
  changes(): Generator<FoundChange>
}

/**
 * Creates a model that has only the names in the commands. All other names of the earlier tree are unchanged. A file that lost a name and
 * got another counts as renamed. A file with several names may count as deleted and added. Entries below a renamed directory moved with it
 * and are not listed. If a file replaces another at its path, the model lists only the new one, as modified if it is new.
 */
export function createTreeModel(namesMax: number): TreeModel {
  const names = new Names(namesMax)
  return {
    apply: (command) => applyCommand(names, command),
    *changes() {
      if (names.root.file.isModified) yield modifiedAt('/', names.root)
      const gone: Entry[] = []
      const moved: [Entry, Entry][] = []
      const fresh: Entry[] = []
      for (const file of names.files) sortNames(file, { gone, moved, fresh })
      yield* deletions(names, gone)
      for (const [was, is] of moved)
        yield { ...modifiedAt(names.pathNow(is), is), kind: 'renamed', from: names.pathBefore(was) }
      for (const entry of fresh) yield addedAt(names.pathNow(entry), entry)
      for (const file of names.files) yield* modifications(names, file)
    },
  }
}

/** A name in a directory, of the earlier tree, the later one, or both. */
interface Entry {
  /** Its directory now, or null once it is removed. */
  directory: Entry | null
  name: string
  /** Its directory in the earlier tree, or null if it was in none. */
  wasIn: Entry | null
  wasNamed: string
  file: FileState
  /** The known names of a directory. The value of a removed name is null. */
  names: Map<string, Entry | null> | null
  /** Path in the earlier tree of a file that is gone and that this one replaces, else null. */
  replaced: RawPath | null
}

/** A file of any type, with its names. */
interface FileState {
  isNew: boolean
  isModified: boolean
  touched: SendTime | null
  entries: Entry[]
}

class Names {
  readonly root: Entry
  readonly files: FileState[] = []
  readonly #max: number
  readonly #pathsNow = new Map<Entry, string>()
  readonly #pathsBefore = new Map<Entry, string>()
  #count = 0

  constructor(max: number) {
    this.#max = max
    this.root = newEntry(null, '')
    newFile(this.root, false)
  }

  /** Returns the entry that has the path now. */
  find(path: string): Entry {
    let entry = this.root
    for (let start = 0; start < path.length; ) {
      const slash = path.indexOf('/', start)
      const end = slash < 0 ? path.length : slash
      entry = this.#child(entry, path.slice(start, end))
      start = end + 1
    }
    return entry
  }

  /** Returns the entry that has the path now, or null if none is known. */
  findKnown(path: string): Entry | null {
    let entry: Entry | null = this.root
    for (const name of path.split('/')) if (name !== '') entry = entry?.names?.get(name) ?? null
    return entry
  }

  make(path: string): Entry {
    const entry = this.#placed(newEntry(null, ''), path)
    this.files.push(newFile(entry, true))
    return entry
  }

  link(path: string, file: FileState): void {
    const entry = this.#placed(newEntry(null, ''), path)
    entry.file = file
    file.entries.push(entry)
  }

  move(entry: Entry, path: string): void {
    this.remove(entry)
    this.#count--
    this.#placed(entry, path)
  }

  remove(entry: Entry): void {
    if (entry.directory === null) throw new SendStreamError('the stream removes the root')
    namesOf(entry.directory).set(entry.name, null)
    entry.directory = null
  }

  pathNow(entry: Entry): RawPath {
    return `${this.#directoryNow(entry.directory)}/${entry.name}`
  }

  pathBefore(entry: Entry): RawPath {
    return `${this.#directoryBefore(entry.wasIn)}/${entry.wasNamed}`
  }

  isThere(directory: Entry | null): boolean {
    for (let at = directory; at !== this.root; at = at.directory) if (at === null) return false
    return true
  }

  // The model assumes that an unknown name in a directory of the earlier tree exists, unchanged.
  #child(directory: Entry, name: string): Entry {
    const known = directory.names?.get(name)
    if (known) return known
    if (known === null || directory.file.isNew) throw new SendStreamError('the stream names what is not there')
    this.#countOne()
    const entry = newEntry(directory, name)
    entry.wasIn = directory
    entry.wasNamed = name
    this.files.push(newFile(entry, false))
    namesOf(directory).set(name, entry)
    return entry
  }

  #placed(entry: Entry, path: string): Entry {
    this.#countOne()
    const slash = path.lastIndexOf('/')
    const directory = this.find(path.slice(0, Math.max(0, slash)))
    const name = path.slice(slash + 1)
    if (directory.names?.get(name)) throw new SendStreamError('the stream gives a name twice')
    entry.directory = directory
    entry.name = name
    namesOf(directory).set(name, entry)
    return entry
  }

  #countOne(): void {
    if (++this.#count > this.#max) throw new RangeError(`more than ${this.#max} names are concerned`)
  }

  #directoryNow(directory: Entry | null): string {
    if (directory === null || directory === this.root) return ''
    const known = this.#pathsNow.get(directory)
    if (known !== undefined) return known
    const path = this.pathNow(directory)
    this.#pathsNow.set(directory, path)
    return path
  }

  #directoryBefore(directory: Entry | null): string {
    if (directory === null || directory === this.root) return ''
    const known = this.#pathsBefore.get(directory)
    if (known !== undefined) return known
    const path = this.pathBefore(directory)
    this.#pathsBefore.set(directory, path)
    return path
  }
}

function applyCommand(names: Names, { code, path, pathTo, pathLink, modified }: SendCommand): void {
  if (path === null || code === SEND.SUBVOLUME || code === SEND.SNAPSHOT) return
  if (MAKES.has(code)) names.make(path)
  else if (code === SEND.RENAME && pathTo !== null) names.move(names.find(path), pathTo)
  else if (code === SEND.LINK && pathLink !== null) names.link(path, names.find(pathLink).file)
  else if (code === SEND.UNLINK || code === SEND.RMDIR) names.remove(names.find(path))
  else if (code === SEND.UTIMES) names.find(path).file.touched = modified
  else if (MODIFIES.has(code)) names.find(path).file.isModified = true
}

interface SortedNames {
  /** Names that a file lost without getting another. */
  gone: Entry[]
  /** Pairs of a name that a file lost and one that it got instead. */
  moved: [Entry, Entry][]
  /** Other names that files got. */
  fresh: Entry[]
}

function sortNames({ entries }: FileState, { gone, moved, fresh }: SortedNames): void {
  const lost = entries.filter((was) => was.wasIn !== null && !entries.some((is) => isWhereWas(is, was)))
  const gained = entries.filter((is) => is.directory !== null && !entries.some((was) => isWhereWas(is, was)))
  for (const [index, was] of lost.entries()) {
    const is = gained[index]
    if (is === undefined) gone.push(was)
    else moved.push([was, is])
  }
  fresh.push(...gained.slice(lost.length))
}

function* deletions(names: Names, gone: readonly Entry[]): Generator<FoundChange> {
  for (const was of gone) {
    const path = names.pathBefore(was)
    // If its directory is gone too, another directory may have its path.
    const isThere = names.isThere(was.wasIn)
    const successor = isThere ? was.wasIn?.names?.get(was.wasNamed) : names.findKnown(path)
    if (successor) successor.replaced = path
    else yield { kind: 'deleted', path, from: null, isModified: false, replaced: null, touched: null }
  }
}

// Yields the names that a modified file kept.
function* modifications(names: Names, { entries, isNew, isModified, touched }: FileState): Generator<FoundChange> {
  if (isNew || (!isModified && touched === null)) return
  for (const is of entries) {
    if (is.directory === null || !entries.some((was) => isWhereWas(is, was))) continue
    const [path, before] = [names.pathNow(is), names.pathBefore(is)]
    yield { ...modifiedAt(path, is), from: before === path ? null : before }
  }
}

function isWhereWas(is: Entry, was: Entry): boolean {
  return was.wasIn !== null && is.directory === was.wasIn && is.name === was.wasNamed
}

function modifiedAt(path: RawPath, { file }: Entry): FoundChange {
  const { isModified, touched } = file
  return { kind: 'modified', path, from: null, isModified, replaced: null, touched: isModified ? null : touched }
}

function addedAt(path: RawPath, { replaced, file }: Entry): FoundChange {
  const isModified = replaced !== null || (file.isModified && !file.isNew)
  const kind = replaced === null ? 'added' : 'modified'
  return { kind, path, from: null, isModified, replaced, touched: null }
}

function newEntry(directory: Entry | null, name: string): Entry {
  return { directory, name, wasIn: null, wasNamed: '', file: NO_FILE, names: null, replaced: null }
}

function newFile(entry: Entry, isNew: boolean): FileState {
  entry.file = { isNew, isModified: false, touched: null, entries: [entry] }
  return entry.file
}

function namesOf(directory: Entry): Map<string, Entry | null> {
  directory.names ??= new Map()
  return directory.names
}

const NO_FILE: FileState = { isNew: false, isModified: false, touched: null, entries: [] }

const MAKES: ReadonlySet<number> = new Set([
  SEND.MKFILE,
  SEND.MKDIR,
  SEND.MKNOD,
  SEND.MKFIFO,
  SEND.MKSOCK,
  SEND.SYMLINK,
])

const MODIFIES: ReadonlySet<number> = new Set([
  SEND.SET_XATTR,
  SEND.REMOVE_XATTR,
  SEND.WRITE,
  SEND.CLONE,
  SEND.TRUNCATE,
  SEND.CHMOD,
  SEND.CHOWN,
  SEND.UPDATE_EXTENT,
  SEND.FALLOCATE,
  SEND.FILEATTR,
  SEND.ENCODED_WRITE,
  SEND.ENABLE_VERITY,
])
