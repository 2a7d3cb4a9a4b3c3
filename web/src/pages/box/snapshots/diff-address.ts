import type { DiffChange } from '../../../api/records.ts'
import { type FilePlace, placeOf } from '../files/place.ts'

/** A file to compare in two forms: its path before, and its path after. */
export interface FileInDiff {
  before: FilePlace
  after: FilePlace
}

type FileAddress = Partial<Record<'file' | 'file64' | 'was' | 'was64', string>>

/** Returns the parts of an address that name the file of a change. */
export function addressOfFile({ path, path_base64: bytes, from, from_base64: fromBytes }: DiffChange): FileAddress {
  const was = from === null ? {} : fromBytes === null ? { was: from } : { was64: fromBytes }
  return { ...(bytes === null ? { file: path } : { file64: bytes }), ...was }
}

/** Returns the file that an address names, or null if it names none. */
export function fileOfAddress({ file, file64, was, was64 }: FileAddress): FileInDiff | null {
  if (file === undefined && file64 === undefined) return null
  const after = placeOfText(file, file64)
  return { before: was === undefined && was64 === undefined ? after : placeOfText(was, was64), after }
}

function placeOfText(path: string | undefined, path64: string | undefined): FilePlace {
  return placeOf({ ...(path === undefined ? {} : { path }), ...(path64 === undefined ? {} : { path64 }) })
}
