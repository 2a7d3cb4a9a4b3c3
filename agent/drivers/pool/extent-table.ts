/**
 * Table of extents by disk address, each with its only owner, numbered from 0, or marked as shared. Takes 20 bytes per slot, and
 * at least two slots per extent.
 */
export interface ExtentTable {
  /** Adds an extent of an owner, counted once per owner. Throws RangeError if the table is full. */
  add(address: number, bytes: number, owner: number): void
  /** Marks an extent as shared, unless it is unknown. Returns true if it had one owner before. */
  share(address: number): boolean
  /** Adds an extent as `add`, and marks it as shared. */
  addShared(address: number, bytes: number, owner: number): void
  /** Returns the bytes of the extents that only this owner has, and of all that it has. */
  of(owner: number): { uniqueBytes: number; bytes: number }
  /** Counts the extents that only this owner has. With null, counts the extents of any single owner. */
  uniqueCount(owner: number | null): number
}

/** Creates a table for up to `extentsMax` extents of `owners` owners. */
export function createExtentTable(extentsMax: number, owners: number): ExtentTable {
  const size = 2 ** Math.ceil(Math.log2(extentsMax * 2))
  const addresses = new Float64Array(size)
  const lengths = new Uint32Array(size)
  const ownedBy = new Int32Array(size)
  const lastSeenBy = new Int32Array(size)
  const [unique, uniqueBytes, bytes] = [new Float64Array(owners), new Float64Array(owners), new Float64Array(owners)]
  let [count, uniqueTotal] = [0, 0]

  const slotOf = (address: number): number => {
    let slot = hashOf(address) & (size - 1)
    while (addresses[slot] !== 0 && addresses[slot] !== address) slot = (slot + 1) & (size - 1)
    return slot
  }
  const shareSlot = (slot: number): boolean => {
    const owner = ownedBy[slot] as number
    if (owner === SHARED) return false
    uniqueTotal--
    unique[owner] = (unique[owner] as number) - 1
    uniqueBytes[owner] = (uniqueBytes[owner] as number) - (lengths[slot] as number)
    ownedBy[slot] = SHARED
    return true
  }
  const add = (address: number, length: number, owner: number): number => {
    const slot = slotOf(address)
    if (addresses[slot] === 0) {
      if (++count > extentsMax) throw new RangeError('more extents than the table may hold')
      addresses[slot] = address
      lengths[slot] = length
      ownedBy[slot] = owner
      lastSeenBy[slot] = NO_OWNER
      uniqueTotal++
      unique[owner] = (unique[owner] as number) + 1
      uniqueBytes[owner] = (uniqueBytes[owner] as number) + length
    } else if (ownedBy[slot] !== owner) shareSlot(slot)
    if (lastSeenBy[slot] !== owner) {
      lastSeenBy[slot] = owner
      bytes[owner] = (bytes[owner] as number) + length
    }
    return slot
  }
  return {
    add: (address, length, owner) => void add(address, length, owner),
    addShared: (address, length, owner) => void shareSlot(add(address, length, owner)),
    share: (address) => {
      const slot = slotOf(address)
      return addresses[slot] !== 0 && shareSlot(slot)
    },
    of: (owner) => ({ uniqueBytes: uniqueBytes[owner] ?? 0, bytes: bytes[owner] ?? 0 }),
    uniqueCount: (owner) => (owner === null ? uniqueTotal : (unique[owner] ?? 0)),
  }
}

/** Hashes a disk address, without its low bits, which are 0 in every multiple of 4,096. */
export function hashOf(address: number): number {
  const sector = address / 4096
  const mixed = Math.imul(sector ^ Math.floor(sector / 2 ** 32), 0x9e3779b1)
  return (mixed ^ (mixed >>> 15)) >>> 0
}

const SHARED = -1
const NO_OWNER = -1
