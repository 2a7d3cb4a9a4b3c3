/** A page of output. */
interface OutputPage {
  /** To base 64. */
  data: string
  next_offset: number
}

/** Reads output from the oldest kept byte to the current end. */
export async function readAllPages(read: (offset: number) => Promise<OutputPage>): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let sizeBytes = 0
  for (let offset = 0; sizeBytes < ALL_MAX_BYTES; ) {
    const page = await read(offset)
    if (page.data === '') break
    const bytes = bytesOf(page.data)
    parts.push(bytes)
    sizeBytes += bytes.length
    offset = page.next_offset
  }
  return new Blob(parts, { type: 'text/plain' })
}

export function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}

/** Maximum bytes that the service returns at once. */
export const LONGEST_PIECE = 1024 * 1024
/** More than the service keeps of one. Stops there if a command writes without end. */
const ALL_MAX_BYTES = 64 * 1024 * 1024
