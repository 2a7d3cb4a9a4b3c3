/** A file to upload, with its path below the directory that it goes to. */
export interface DroppedFile {
  path: string
  file: File
}

/** Returns the files that were dropped, those in directories with their paths. */
export async function readDropped(items: DataTransferItemList): Promise<DroppedFile[]> {
  // All at once: the list is empty after the first wait.
  const found = Array.from(items, (item) => item.webkitGetAsEntry() ?? item.getAsFile())
  return (await Promise.all(found.map((each) => filesOf(each)))).flat()
}

async function filesOf(dropped: FileSystemEntry | File | null): Promise<DroppedFile[]> {
  if (dropped === null) return []
  return dropped instanceof File ? [{ path: dropped.name, file: dropped }] : filesBelow(dropped)
}

async function filesBelow(entry: FileSystemEntry): Promise<DroppedFile[]> {
  const path = entry.fullPath.replace(/^\//, '')
  if (entry instanceof FileSystemFileEntry) {
    return [{ path, file: await new Promise<File>((resolve, reject) => entry.file(resolve, reject)) }]
  }
  if (!(entry instanceof FileSystemDirectoryEntry)) return []
  const reader = entry.createReader()
  const files: DroppedFile[] = []
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (some.length === 0) return files
    for (const each of some) files.push(...(await filesBelow(each)))
  }
}
