import { UsageError } from '../output/failures.ts'

/** The source of a copy. */
export interface CopySource {
  kind: 'file' | 'directory' | 'symlink'
  /** Its name in a destination directory. */
  name: string
  /** `DIR/.` copies the contents of the directory, without the directory. */
  isContents: boolean
}

/** The user's destination of a copy. */
export interface CopyTarget {
  /** Without final slashes. */
  path: string
  /** The kind of the file at `path`, following links. Null if there is none. */
  kind: 'directory' | 'other' | null
  endsInSlash: boolean
}

/** The resolved destination of a copy. */
export interface CopyPlace {
  path: string
  /** Whether to create missing directories above it. */
  parents: boolean
  /** Whether it is a name in an existing directory, where a link may have that name. */
  isName: boolean
}

/**
 * Decides where to put a copy, as `docker cp` does. An existing directory receives the source under its name, or its contents for `DIR/.`.
 * Unlike `docker cp`, a final slash creates a missing directory for files, links and several sources. A pure function.
 * @throws UsageError for several sources without a directory, and Error for a directory in place of something else
 */
export function copyPlaceOf(source: CopySource, target: CopyTarget, isOneOfSeveral: boolean): CopyPlace {
  const { path, kind, endsInSlash } = target
  const isNew = kind === null && endsInSlash && (source.kind !== 'directory' || isOneOfSeveral)
  if (kind === 'directory' || isNew) {
    const inside = `${path.replace(/\/$/, '')}/${source.name}`
    return { path: source.isContents ? path : inside, parents: isNew, isName: !isNew && !source.isContents }
  }
  if (isOneOfSeveral)
    throw new UsageError(`${path} is not a directory, which several sources need. End it with a slash to create one.`)
  if (kind === 'other' && source.kind === 'directory')
    throw new Error(`${path} exists and is not a directory, so a directory cannot replace it.`)
  if (kind === 'other' && endsInSlash) throw new Error(`${path} is not a directory.`)
  return { path, parents: endsInSlash, isName: false }
}
