/** A file or directory to upload, with its path below the target directory. */
export interface DroppedItem {
  path: string
  /** Null for an empty directory. */
  file: File | null
}

/** Returns the dropped files, including files in directories with their paths, and the empty directories. */
export async function readDropped(items: DataTransferItemList): Promise<DroppedItem[]> {
  // Reads all at once, because the list is empty after the first wait.
  const found = Array.from(items, (item) => item.webkitGetAsEntry() ?? item.getAsFile())
  const dropped: DroppedItem[] = []
  for (const each of found) {
    if (each instanceof File) dropped.push({ path: each.name, file: each })
    else if (each !== null) await readBelow(each, dropped)
  }
  return dropped
}

async function readBelow(entry: FileSystemEntry, dropped: DroppedItem[]): Promise<void> {
  const path = entry.fullPath.replace(/^\//, '')
  if (isFile(entry)) {
    dropped.push({ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) })
    return
  }
  if (!isDirectory(entry)) return
  const reader = entry.createReader()
  for (let count = 0; ; ) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) {
      if (count === 0) dropped.push({ path, file: null })
      return
    }
    count += some.length
    for (const each of some) await readBelow(each, dropped)
  }
}

// The classes of entries have different names in other browsers.
function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile
}

function isDirectory(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory
}
