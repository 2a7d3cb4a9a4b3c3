const owners = new WeakMap<Element, () => void>()

/** Makes `pass` what brings Ctrl-K to whatever has the focus in an element, such as a terminal; returns what ends that. */
export function ownPaletteKey(element: Element, pass: () => void): () => void {
  owners.set(element, pass)
  return () => owners.delete(element)
}

/** Returns what brings Ctrl-K to the owner that an element is in; null: it has none. */
export function ownerOfPaletteKey(element: Element | null): (() => void) | null {
  for (let each = element; each !== null; each = each.parentElement) {
    const pass = owners.get(each)
    if (pass) return pass
  }
  return null
}
