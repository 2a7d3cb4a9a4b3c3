/**
 * Finds the part of `bytes` without cut characters. Skips a cut character at the front if earlier bytes were dropped, and one at the end
 * unless the stream ends there. Pure.
 */
export function wholeCharacters(
  bytes: Uint8Array,
  { isCutBefore, isLast }: { isCutBefore: boolean; isLast: boolean },
): { skip: number; length: number } {
  const skip = isCutBefore ? continuationBytes(bytes) : 0
  const end = isLast ? bytes.length : bytes.length - unfinishedBytes(bytes)
  return { skip, length: Math.max(0, end - skip) }
}

function continuationBytes(bytes: Uint8Array): number {
  let count = 0
  while (count < 3 && isContinuation(bytes[count])) count += 1
  return count
}

// Counts the bytes at the end that begin a character and do not finish it.
function unfinishedBytes(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]
    if (!isContinuation(byte)) return lengthOfCharacter(byte) > back ? back : 0
  }
  return 0
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}

// Returns 1 also for bytes that begin no character.
function lengthOfCharacter(first: number | undefined): number {
  if (first === undefined || first < 0xc2 || first > 0xf4) return 1
  if (first < 0xe0) return 2
  return first < 0xf0 ? 3 : 4
}
