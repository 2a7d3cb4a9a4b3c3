const owners = new WeakMap<Element, () => void>()

/** Registers `pass`, which brings Ctrl-K to the focused part of an element, such as a terminal. Returns a function that unregisters it. */
export function ownPaletteKey(element: Element, pass: () => void): () => void {
  owners.set(element, pass)
  return () => owners.delete(element)
}

/** Returns the function that brings Ctrl-K to the owner around an element, or null if it has none. */
export function ownerOfPaletteKey(element: Element | null): (() => void) | null {
  for (let each = element; each !== null; each = each.parentElement) {
    const pass = owners.get(each)
    if (pass) return pass
  }
  return null
}
