/** A path in a box as the bytes it has there, absolute; it need be no text. */
export type FilePath = Uint8Array

/** A box, or a snapshot of one, whose files a call works on: as the box runs, or else its root with its data volumes mounted. */
export interface FilesPlace {
  boxId: string
  /** Set if the trees are a snapshot's: the running box is not looked at. */
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
  /** Changes with every change of the file or its metadata; quoted, strong. */
  etag: string
  /** The text of a symbolic link. */
  target: Uint8Array | null
}

/**
 * An entry of a listing. Its path is relative to the listed directory: its bytes, one character each.
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
  /** Receives the entries in order, in batches while later ones are read; each entry object is made as the iterator reaches it. */
  take(entries: Iterable<FileEntry>): void
}

/** A regular file that is open for reading. Replacing it does not affect the reader; changing it in place does. */
export interface OpenFile {
  facts: FileFacts
  /** All of its bytes if it was small enough to be read at once. */
  whole: Uint8Array | null
  /**
   * Reads the bytes from `start` to `end` (exclusive); closes the file at the end or when the reader stops. Throws `rate_limited`
   * if too many transfers are under way: the caller then still has to close the file.
   */
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
  /** Closes a file that was not read; does nothing otherwise. */
  close(): void
}

export interface WriteOptions {
  /** Null keeps the mode of the replaced file, and is 0o644 for a new one. */
  mode: number | null
  /** Creates missing directories (0o755). */
  parents: boolean
  /** Writes only if the present file has one of these quoted etags; `*` is any file. Null: no condition. */
  ifMatch: readonly string[] | '*' | null
  /** Writes only if there is no file. */
  ifNoneMatch: boolean
}

/** A written file, and whether it was created. */
export interface WrittenFile {
  facts: FileFacts
  isNew: boolean
}

/** An entry that was not unpacked: its path in the archive, and why. */
export interface RefusedEntry {
  path: FilePath
  reason: string
}

export interface UnpackReport {
  /** How many files, directories and links were created. */
  entries: number
  /** The first 1,000 refused entries, and how many there were. */
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
  /** Follows links on the way, but not the last name. */
  stat(place: FilesPlace, path: FilePath): Promise<FileFacts>
  /** Lists by byte order of the names, a directory before its entries. Resolves to the next cursor, null at the end. */
  list(place: FilesPlace, path: FilePath, options: ListOptions): Promise<FilePath | null>
  /** Opens a regular file. Throws `is_a_directory`, or `path_invalid` for anything else, which is not opened. */
  open(place: FilesPlace, path: FilePath): Promise<OpenFile>
  /**
   * Replaces a file atomically with `bytes`, keeping its owner and mode; follows a link. If `bytes` throws, nothing is changed
   * and nothing is left behind. Throws `precondition_failed`, `is_a_directory`.
   */
  write(
    place: FilesPlace,
    path: FilePath,
    options: WriteOptions,
    bytes: AsyncIterable<Uint8Array>,
  ): Promise<WrittenFile>
  /**
   * Removes a file, a link or an empty directory, or with `recursive` a tree. Throws `directory_not_empty`; and `path_invalid`,
   * before anything is removed, for the root, a mount, or a tree with a mount in it.
   */
  remove(place: FilesPlace, path: FilePath, options: { recursive: boolean }): Promise<void>
  /** Renames. Throws `name_taken` if the target exists, unless `overwrite`; `path_invalid` across disks. */
  move(place: FilesPlace, from: FilePath, to: FilePath, options: { overwrite: boolean }): Promise<FileFacts>
  /** Creates a directory; succeeds if it exists. */
  makeDirectory(
    place: FilesPlace,
    path: FilePath,
    options: { mode: number | null; parents: boolean },
  ): Promise<WrittenFile>
  /**
   * Restores a file, a link or a directory tree from the snapshot `from`, all or nothing, replacing what is there; recreates missing
   * parent directories. Shares the bytes with the snapshot instead of copying them. Throws `path_invalid` for a path that is or
   * contains a mount, now or in the snapshot, for devices, and beyond 256 levels. Until it is complete the new tree, and then the
   * replaced one, has the unused `temporaryName` beside it; a crash may leave that behind.
   */
  restore(place: FilesPlace, from: FilesPlace, what: { path: FilePath; temporaryName: string }): Promise<FileFacts>
  /**
   * Packs the contents of a directory, or a file, as a tar; follows a link at the end of `path`. Includes mounted volumes, but of
   * /proc and the like only the directory; leaves out sockets and devices. Throws `path_invalid`, possibly while it is read, beyond
   * 256 levels of directories.
   */
  pack(place: FilesPlace, path: FilePath): Promise<AsyncIterable<Uint8Array>>
  /**
   * Unpacks a tar into a directory, whose own metadata stays; keeps modes, times and ids (0 to 65,534). Refuses single entries:
   * absolute names, names with `..`, links that lead out of the directory, devices, FIFOs, sparse files, and entries blocked by a
   * link or by something of another kind. Throws `invalid_request` for what is not a tar; entries unpacked before that stay.
   */
  unpack(place: FilesPlace, path: FilePath, bytes: AsyncIterable<Uint8Array>): Promise<UnpackReport>
  /**
   * Unpacks an image layer over the layers below it: first removes what its whiteouts name and what it replaces by another kind.
   * Calls `bytes` twice, which must yield the same.
   */
  unpackLayer(place: FilesPlace, path: FilePath, bytes: () => AsyncIterable<Uint8Array>): Promise<UnpackReport>
  close(): Promise<void>
}
