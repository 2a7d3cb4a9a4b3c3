/** Bytes of a size in GiB. */
export function bytesOf(gib: number): number {
  return Math.ceil(gib * 1024 ** 3)
}
