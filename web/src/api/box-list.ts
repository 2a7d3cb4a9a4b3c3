import type { Box, Ref } from './records.ts'

/** Returns the list with `box` in its place, by project and name. Null removes it. */
export function replaceBox(list: readonly Box[], ref: Ref, box: Box | null): Box[] {
  const rest = list.filter(({ project, name }) => project !== ref.project || name !== ref.name)
  if (box === null) return rest
  const place = rest.findIndex((each) => compareRefs(each, box) > 0)
  return place < 0 ? [...rest, box] : rest.toSpliced(place, 0, box)
}

function compareRefs(a: Ref, b: Ref): number {
  if (a.project !== b.project) return a.project < b.project ? -1 : 1
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1
}
