import type { Ref } from '../../api/records.ts'

/** Returns the place of the work that belongs to a volume. */
export function placeOfVolume({ project, name }: Ref): string {
  return `volume ${project}/${name}`
}
