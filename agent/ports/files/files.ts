/** A path in a box as the bytes it has there, absolute; it need be no text. */
export type FilePath = Uint8Array

/** The box whose files are meant: as it runs, or else its root with its data volumes in their places. */
export interface FilesPlace {
  boxId: string
  /** The trees are those of a snapshot of the box, whether it runs or not. */
  isSnapshot?: true
  /** Host path of the root tree, ids as on disk. */
  rootPath: string
  /** Host paths of its volumes, in the order in which they are mounted. */
  mounts: readonly { source: string; path: string; readOnly: boolean }[]
}

export type FileKind = 'file' | 'directory' | 'symlink' | 'block' | 'character' | 'fifo' | 'socket'

/** What lstat tells of a file; ids are the box's own, 65,534 for one it does not have. */
export interface FileFacts {
  kind: FileKind
  sizeBytes: number
  /** The permission bits, at most 0o7777. */
  mode: number
  uid: number
  gid: number
  /** Milliseconds since the epoch. */
  modifiedAt: number
  /** Another after every change of the file or its facts; quoted, strong. */
  etag: string
  /** Where a link leads, as it says. */
  target: Uint8Array | null
}

/**
 * An entry of a listing. Its path is below the listed directory, without a slash at its front: the bytes of it, one character
 * each.
 */
export interface FileEntry extends FileFacts {
  path: string
}

export interface ListOptions {
  /** How many levels of directories, 1–64; 1 is the directory alone. Links are not followed, /proc and its like not entered. */
  depth: number
  /** The entry after which to go on; null begins. */
  after: FilePath | null
  limit: number
  /** Is given the entries, in their order, some at a time while others are looked for; each is made when it is asked for. */
  take(entries: Iterable<FileEntry>): void
}

/** A regular file that is open for reading: what it held when it was opened, unless it is changed in place. */
export interface OpenFile {
  facts: FileFacts
  /** All of it, where it is so small that it was read at once. */
  whole: Uint8Array | null
  /**
   * The bytes from `start` to `end` (not included), closing the file at the end or when the reader leaves. Throws `rate_limited`
   * where too much is under way: the file is still to be closed then.
   */
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
  /** For a file that is not read; else a success. */
  close(): void
}

export interface WriteOptions {
  /** Null keeps that of the file that is replaced, and is 0o644 for a new one. */
  mode: number | null
  /** Whether missing directories are made, 0o755. */
  parents: boolean
  /** Only if the file there is one of these, quoted; `*` is any. Null: whatever is there. */
  ifMatch: readonly string[] | '*' | null
  /** Only if there is nothing. */
  ifNoneMatch: boolean
}

/** A file as it is now, and whether it was not there before. */
export interface WrittenFile {
  facts: FileFacts
  isNew: boolean
}

/** What an archive left out: the path as the archive tells it, and why. */
export interface RefusedEntry {
  path: FilePath
  reason: string
}

export interface UnpackReport {
  /** How many files, directories and links were made. */
  entries: number
  /** The first 1,000 that were refused, and how many there were. */
  refused: RefusedEntry[]
  refusedCount: number
}

/**
 * The files of boxes that run and of boxes that do not. The kernel resolves every path inside the box's root, following links
 * that the box made but none out of it, nor a magic one, and refuses what is on no disk of the box (/proc, /sys). Whatever a
 * box does meanwhile, nothing outside is read or changed. What is written is durable when the promise resolves, and whole or
 * not there. All throw `file_not_found`, `not_a_directory`, `path_invalid` (loops, what is no file, not on a disk of the box)
 * and, where they write, `storage_full`, or `path_invalid` on a read-only volume; and `box_busy` where another attempt may
 * succeed: the box stops or starts, a process of it moves directories on the way, or holds a lease on the file. Archives, what
 * is read or written of files larger than 64 KiB, lists of more than one level, removals of trees and restores throw
 * `rate_limited` where too many are under way.
 */
export interface Files {
  /** Links on the way are followed, the last name is not. */
  stat(place: FilesPlace, path: FilePath): Promise<FileFacts>
  /** In the order of their names' bytes, a directory before what is in it. Resolves to where to go on, null at the end. */
  list(place: FilesPlace, path: FilePath, wish: ListOptions): Promise<FilePath | null>
  /** Throws `is_a_directory`, or `path_invalid` for what is no regular file, without opening it. */
  open(place: FilesPlace, path: FilePath): Promise<OpenFile>
  /**
   * Replaces a file at once by what `bytes` brings, keeping its owner and mode; a link is followed. If `bytes` throws, nothing
   * is changed and nothing left. Throws `precondition_failed`, `is_a_directory`.
   */
  write(place: FilesPlace, path: FilePath, wish: WriteOptions, bytes: AsyncIterable<Uint8Array>): Promise<WrittenFile>
  /**
   * Removes a file, a link or an empty directory, or with `recursive` a tree. Throws `directory_not_empty`; `path_invalid`
   * for the root, a mount, or a tree in which something is mounted, before anything is removed.
   */
  remove(place: FilesPlace, path: FilePath, options: { recursive: boolean }): Promise<void>
  /** Renames; throws `name_taken` where something is in the way, unless `overwrite`; `path_invalid` from disk to disk. */
  move(place: FilesPlace, from: FilePath, to: FilePath, options: { overwrite: boolean }): Promise<FileFacts>
  /** A directory that is there is a success. */
  makeDirectory(
    place: FilesPlace,
    path: FilePath,
    options: { mode: number | null; parents: boolean },
  ): Promise<WrittenFile>
  /**
   * Brings a file, a link or a directory with all in it back to what it was in `from`, a snapshot: all of it or nothing, whatever
   * is there now; missing directories are made as they were. Its bytes are shared with the snapshot, not copied. Throws
   * `path_invalid` where something is mounted there or below, now or then, for devices, and beyond 256 levels. What is not there
   * yet, or is there no more, has the name `passing` beside it, which nothing may have; a crash may leave it.
   */
  restore(place: FilesPlace, from: FilesPlace, what: { path: FilePath; passing: string }): Promise<FileFacts>
  /**
   * A tar of what is at `path`, a link at its end followed: of a directory, what is in it, of a file, that. Volumes in it are
   * gone into, of /proc and the like there is the directory alone; sockets and devices are left out. Throws `path_invalid`,
   * also later, for more than 256 levels of directories.
   */
  pack(place: FilesPlace, path: FilePath): Promise<AsyncIterable<Uint8Array>>
  /**
   * Unpacks a tar into a directory, which itself stays as it is; modes, times and ids (0 to 65,534) are kept. Refused, each by
   * itself: names that are absolute or have `..`, links that lead out of the directory, devices, FIFOs, sparse files, what a
   * link or something of another kind is in the way of. Throws `invalid_request` for what is no tar; what was unpacked before
   * stays.
   */
  unpack(place: FilesPlace, path: FilePath, bytes: AsyncIterable<Uint8Array>): Promise<UnpackReport>
  /**
   * As `unpack`, of a layer of an image over those below it: what it takes away (whiteouts) and what it puts something of another
   * kind in the place of is removed first. `bytes` gives the same twice.
   */
  unpackLayer(place: FilesPlace, path: FilePath, bytes: () => AsyncIterable<Uint8Array>): Promise<UnpackReport>
  close(): Promise<void>
}
