/** Returns the sort key of a name in natural order, with `box-2` before `box-10`. Long lists only need a plain comparison of such keys. */
export function naturalKey(name: string): string {
  return name.replace(/0*(\d+)/g, (_, digits: string) => String.fromCharCode(48 + Math.min(digits.length, 75)) + digits)
}

/** Returns the items by the keys of their names. Items of equal names keep their order. */
export function sortNaturally<Item>(items: readonly Item[], nameOf: (item: Item) => string): Item[] {
  return items
    .map((item) => [naturalKey(nameOf(item)), item] as const)
    .sort(([a], [b]) => (a === b ? 0 : a < b ? -1 : 1))
    .map(([, item]) => item)
}
