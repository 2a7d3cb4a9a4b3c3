/** A path in a box as the bytes it has there, absolute. It need be no text. */
export type FilePath = Uint8Array

/**
 * The root and volumes of a box, or of one of its snapshots, to read and write files in. A running box is accessed through
 * its mounts, else its root is mounted with its data volumes.
 */
export interface FilesRoot {
  boxId: string
  /** The accounts of the request that share long transfers. */
  accounts?: readonly string[]
  /** Set if the trees belong to a snapshot. The running box is then ignored. */
  isSnapshot?: true
  /** Host path of the root tree, ids as on disk. */
  rootPath: string
  /** Host paths of its volumes, in the order in which they are mounted. */
  mounts: readonly { source: string; path: string; readOnly: boolean }[]
}

export type FileKind = 'file' | 'directory' | 'symlink' | 'block' | 'character' | 'fifo' | 'socket'

/** Result of lstat. Ids are the box's own, with 65,534 for an unmapped one. */
export interface FileFacts {
  kind: FileKind
  sizeBytes: number
  /** The permission bits, at most 0o7777. */
  mode: number
  uid: number
  gid: number
  /** Milliseconds since the epoch. */
  modifiedAt: number
  /** Changes with every change of the file or its metadata. A quoted, strong ETag. */
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
  /** Levels of directories to list, 1–64, where 1 lists only the directory. Does not follow links, or enter /proc and the like. */
  depth: number
  /** The entry to continue after. Null begins. */
  after: FilePath | null
  limit: number
  /** Receives the entries in order, in batches while later ones are read. Each entry object is made as the iterator reaches it. */
  take(entries: Iterable<FileEntry>): void
}

/** A regular file that is open for reading. Replacing it does not affect the reader, but changing it in place does. */
export interface OpenFile {
  facts: FileFacts
  /** All of its bytes if it was small enough to be read at once. */
  whole: Uint8Array | null
  /**
   * Reads the bytes from `start` to `end` (exclusive). Closes the file at the end or when the reader stops. Throws `rate_limited` if too
   * many transfers are under way, and then leaves it to the caller to close the file. The first piece fails with `body_too_large` if too
   * many of the bytes are holes.
   */
  read(range: { start: number; end: number }): AsyncIterable<Uint8Array>
  /** Closes a file that was not read. Does nothing otherwise. */
  close(): void
}

export interface WriteOptions {
  /** Null keeps the mode of the replaced file, and is 0o644 for a new one. */
  mode: number | null
  /** Creates missing directories (0o755). */
  parents: boolean
  /** Writes only if the present file has one of these quoted etags. `*` is any file. Null: no condition. */
  ifMatch: readonly string[] | '*' | null
  /** Writes only if there is no file. */
  ifNoneMatch: boolean
}

/** A written file. `isNew` if it did not exist before. */
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
 * Reads and writes the files of boxes, running or not. The kernel resolves every path inside the box's root. It follows the box's links,
 * but no magic links and none out of the root. It refuses filesystems other than the box's disks, such as /proc and /sys. Nothing that
 * the box does during a call lets it read or change anything outside. Writes are all or nothing, and durable when the promise resolves.
 *
 * All methods throw `file_not_found`, `not_a_directory`, `path_invalid` (loops, non-files, not on a disk of the box). Writes also throw:
 * - `storage_full`, or `path_invalid` on a read-only volume.
 * - `box_busy` if another attempt may succeed. The box stops or starts, or one of its processes renames directories on the way or holds a
 *   lease on the file.
 *
 * Archives, transfers of files larger than 64 KiB, lists of more than one level, removals of trees and restores throw `rate_limited`
 * while too many are under way.
 */
export interface Files {
  /** Follows links on the way, but not the last name. */
  stat(root: FilesRoot, path: FilePath): Promise<FileFacts>
  /** Lists by byte order of the names, a directory before its entries. Resolves to the next cursor, null at the end. */
  list(root: FilesRoot, path: FilePath, options: ListOptions): Promise<FilePath | null>
  /** Opens a regular file. Throws `is_a_directory`, or `path_invalid` for anything else, which is not opened. */
  open(root: FilesRoot, path: FilePath): Promise<OpenFile>
  /**
   * Replaces a file atomically with `bytes`, keeping its owner and mode. Follows a link. If `bytes` throws, changes nothing and leaves
   * nothing behind. Throws `precondition_failed`, `is_a_directory`.
   */
  write(root: FilesRoot, path: FilePath, options: WriteOptions, bytes: AsyncIterable<Uint8Array>): Promise<WrittenFile>
  /**
   * Removes a file, a link or an empty directory, or with `recursive` a tree. Throws `directory_not_empty`. Throws `path_invalid`, before
   * anything is removed, for the root, a mount, or a tree with a mount in it.
   */
  remove(root: FilesRoot, path: FilePath, options: { recursive: boolean }): Promise<void>
  /** Renames. Throws `name_taken` if the target exists, unless `overwrite`, and `path_invalid` across disks. */
  move(root: FilesRoot, from: FilePath, to: FilePath, options: { overwrite: boolean }): Promise<FileFacts>
  /** Creates a directory. Succeeds if it exists. */
  makeDirectory(
    root: FilesRoot,
    path: FilePath,
    options: { mode: number | null; parents: boolean },
  ): Promise<WrittenFile>
  /**
   * Restores a file, a link or a directory tree from the snapshot `from`, all or nothing, replacing what is there. Recreates missing
   * parent directories. Shares the bytes with the snapshot instead of copying them. Throws `path_invalid` for a path that is or contains
   * a mount, now or in the snapshot, for devices, and beyond 256 levels. Until it is complete the new tree, and then the replaced one,
   * has the unused `temporaryName` beside it. A crash may leave that behind.
   */
  restore(root: FilesRoot, from: FilesRoot, what: { path: FilePath; temporaryName: string }): Promise<FileFacts>
  /**
   * Packs the contents of a directory, or a file, as a tar. Follows a link at the end of `path`. Includes mounted volumes, but of /proc
   * and the like only the directory. Leaves out sockets and devices. Throws `path_invalid`, possibly while it is read, beyond 256 levels
   * of directories.
   */
  pack(root: FilesRoot, path: FilePath): Promise<AsyncIterable<Uint8Array>>
  /**
   * Unpacks a tar into a directory, whose own metadata stays. Keeps modes, times and ids (0 to 65,534). Throws `invalid_request` if the
   * bytes are not a tar, and keeps entries unpacked before that.
   *
   * Refuses single entries:
   * - absolute names, and names with `..`
   * - links that lead out of the directory
   * - devices, FIFOs and sparse files
   * - entries blocked by a link or by something of another kind
   */
  unpack(root: FilesRoot, path: FilePath, bytes: AsyncIterable<Uint8Array>): Promise<UnpackReport>
  /**
   * Unpacks an image layer over the layers below it. First removes entries that its whiteouts name or that change kind. Calls `bytes`
   * twice, which must yield the same.
   */
  unpackLayer(root: FilesRoot, path: FilePath, bytes: () => AsyncIterable<Uint8Array>): Promise<UnpackReport>
  close(): Promise<void>
}
