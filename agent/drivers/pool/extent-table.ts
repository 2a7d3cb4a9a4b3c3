/**
 * Extents by where they lie, each with whoever has it: one of some owners, which are numbered from 0, or more than one. Takes
 * 24 bytes for each of its places, twice as many as it may hold.
 */
export interface ExtentTable {
  /** Notes that an owner has an extent, and counts it once for each. Throws RangeError if it holds all it may. */
  add(place: number, bytes: number, owner: number): void
  /** Notes that somebody else, or more than one, has it; what is not known is left. True if it was of one owner before. */
  share(place: number): boolean
  /** As `add`, of one that others have too. */
  addShared(place: number, bytes: number, owner: number): void
  /** The bytes that only this owner has, and that it has in all. */
  of(owner: number): { aloneBytes: number; bytes: number }
  /** How many extents only this owner has; null: any. */
  aloneCount(owner: number | null): number
}

export function createExtentTable(extentsMax: number, owners: number): ExtentTable {
  const size = 2 ** Math.ceil(Math.log2(extentsMax * 2))
  const places = new Float64Array(size)
  const lengths = new Uint32Array(size)
  const ownedBy = new Int32Array(size)
  const lastSeenBy = new Int32Array(size)
  const [alone, aloneBytes, bytes] = [new Float64Array(owners), new Float64Array(owners), new Float64Array(owners)]
  let [count, aloneTotal] = [0, 0]

  const slotOf = (place: number): number => {
    let slot = hashOf(place) & (size - 1)
    while (places[slot] !== 0 && places[slot] !== place) slot = (slot + 1) & (size - 1)
    return slot
  }
  const shareSlot = (slot: number): boolean => {
    const owner = ownedBy[slot] as number
    if (owner === SHARED) return false
    aloneTotal--
    alone[owner] = (alone[owner] as number) - 1
    aloneBytes[owner] = (aloneBytes[owner] as number) - (lengths[slot] as number)
    ownedBy[slot] = SHARED
    return true
  }
  const add = (place: number, length: number, owner: number): number => {
    const slot = slotOf(place)
    if (places[slot] === 0) {
      if (++count > extentsMax) throw new RangeError('more extents than the table may hold')
      places[slot] = place
      lengths[slot] = length
      ownedBy[slot] = owner
      lastSeenBy[slot] = NOBODY
      aloneTotal++
      alone[owner] = (alone[owner] as number) + 1
      aloneBytes[owner] = (aloneBytes[owner] as number) + length
    } else if (ownedBy[slot] !== owner) shareSlot(slot)
    if (lastSeenBy[slot] !== owner) {
      lastSeenBy[slot] = owner
      bytes[owner] = (bytes[owner] as number) + length
    }
    return slot
  }
  return {
    add: (place, length, owner) => void add(place, length, owner),
    addShared: (place, length, owner) => void shareSlot(add(place, length, owner)),
    share: (place) => {
      const slot = slotOf(place)
      return places[slot] !== 0 && shareSlot(slot)
    },
    of: (owner) => ({ aloneBytes: aloneBytes[owner] ?? 0, bytes: bytes[owner] ?? 0 }),
    aloneCount: (owner) => (owner === null ? aloneTotal : (alone[owner] ?? 0)),
  }
}

/** Which of the low bits are set says nothing of a place on a disk: it is a multiple of 4,096. */
export function hashOf(place: number): number {
  const sector = place / 4096
  const mixed = Math.imul(sector ^ Math.floor(sector / 2 ** 32), 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

const SHARED = -1
const NOBODY = -1
