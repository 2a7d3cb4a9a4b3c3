import type { FileResource } from '../../../shared/schemas/files.ts'
import { timestamp } from '../../../shared/time.ts'
import type { FileFacts, FilePath, UnpackReport } from '../../ports/files/files.ts'
import { formatPath } from './paths.ts'

/** Returns the file in the form of the API. */
export function viewFile(path: FilePath, facts: FileFacts): FileResource {
  return {
    ...formatPath(path),
    type: facts.kind,
    size_bytes: facts.sizeBytes,
    mode: formatMode(facts.mode),
    uid: facts.uid,
    gid: facts.gid,
    modified_at: timestamp(facts.modifiedAt),
    target: facts.target === null ? null : formatPath(facts.target).path,
    etag: facts.etag,
  }
}

/** Returns the report of an unpacked archive in the form of the API. */
export function viewReport({ entries, refused, refusedCount }: UnpackReport) {
  const listed = refused.map(({ path, reason }) => ({ path: formatPath(path).path, reason }))
  return { entries, refused: listed, refused_count: refusedCount }
}

/** Formats permission bits as four octal digits. */
export function formatMode(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

/** Parses permission bits from octal digits. Null if undefined. */
export function modeOf(text: string | undefined): number | null {
  return text === undefined ? null : Number.parseInt(text, 8)
}
