import type { FileResource } from '../../../shared/schemas/files.ts'
import { timestamp } from '../../core/common/time.ts'
import type { FileFacts, FilePath, UnpackReport } from '../../ports/files/files.ts'
import { tellPath } from './paths.ts'

/** A file as the API tells of it. */
export function viewFile(path: FilePath, facts: FileFacts): FileResource {
  return {
    ...tellPath(path),
    type: facts.kind,
    size_bytes: facts.sizeBytes,
    mode: tellMode(facts.mode),
    uid: facts.uid,
    gid: facts.gid,
    modified_at: timestamp(facts.modifiedAt),
    target: facts.target === null ? null : tellPath(facts.target).path,
    etag: facts.etag,
  }
}

/** What became of an archive, as the API tells of it. */
export function viewReport({ entries, refused, refusedCount }: UnpackReport) {
  const told = refused.map(({ path, reason }) => ({ path: tellPath(path).path, reason }))
  return { entries, refused: told, refused_count: refusedCount }
}

/** Permission bits as four octal digits. */
export function tellMode(mode: number): string {
  return mode.toString(8).padStart(4, '0')
}

/** The bits that octal digits name; null for none given. */
export function modeOf(text: string | undefined): number | null {
  return text === undefined ? null : Number.parseInt(text, 8)
}
