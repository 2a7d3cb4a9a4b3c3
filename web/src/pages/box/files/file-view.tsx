import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import type { FileContent, FileEntry } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Empty, Loading } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { tellError } from '../../../ui/toasts.tsx'
import { bytesText } from '../../../ui/words.ts'
import { downloadFile } from './downloads.ts'
import { useHeld } from './held.ts'
import { lineEndsOf } from './line-ends.ts'
import type { FilePlace } from './place.ts'
import { contentQuery, type FilesAt, SHOWN_BYTES_MAX, statQuery } from './queries.ts'
import { RestorePath } from './restore-path.tsx'
import { TextEditor } from './text-editor.tsx'

interface FileViewProps {
  at: FilesAt
  /** What is at the path now. */
  entry: FileEntry
  /** What is shown: what was at the path when an editor was opened there whose text is not saved. */
  shown: FileEntry
  /** Whether it has such an editor, and how that is told. */
  unsaved: readonly [isUnsaved: boolean, setUnsaved: (isUnsaved: boolean) => void]
}

/** One file: its text to read and edit, or else to download. */
export function FileView({ at, entry, shown, unsaved }: FileViewProps) {
  const { canWrite } = useRights()
  const [restoring, setRestoring] = useState<FilePlace | null>(null)
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span className="text-muted">
          {bytesText(entry.size_bytes)} · mode {entry.mode} · owner {entry.uid}:{entry.gid} · changed{' '}
          <Ago time={entry.modified_at} />
        </span>
        <span className="flex gap-2">
          <Button onClick={() => void downloadFile(at).catch(tellError)}>Download</Button>
          {canWrite && at.snapshot !== undefined && (
            <Button onClick={() => setRestoring(at.place)}>Restore this file</Button>
          )}
        </span>
      </div>
      {shown.size_bytes > SHOWN_BYTES_MAX ? (
        <Empty title="This file is too large to be shown">More than {bytesText(SHOWN_BYTES_MAX)}: download it.</Empty>
      ) : (
        <Content at={at} entry={entry} unsaved={unsaved} />
      )}
      <RestorePath box={at.box} snapshot={at.snapshot ?? ''} place={restoring} close={() => setRestoring(null)} />
    </>
  )
}

function Content({ at, entry, unsaved: [isUnsaved, setUnsaved] }: Omit<FileViewProps, 'shown'>) {
  const { canWrite } = useRights()
  const queries = useQueryClient()
  const { data: file, error, refetch } = useQuery(contentQuery(at))
  const shown = useHeld(file, isUnsaved)
  if (file === undefined || shown === undefined) {
    return error === null ? <Loading what="Reading" /> : <Problem error={error} retry={() => void refetch()} />
  }
  if (shown.encoding !== 'utf-8') {
    return <Empty title="This file is not text">It has bytes that are not UTF-8: download it.</Empty>
  }
  const isMixed = lineEndsOf(shown.content) === 'mixed'
  return (
    <>
      {isMixed && canWrite && at.snapshot === undefined && (
        <p className="rounded-md bg-warn-soft px-3 py-2">
          Its lines end in several ways, which an editor in a page would change: it is only shown here.
        </p>
      )}
      <TextEditor
        at={at}
        file={file}
        unreadable={unreadableWords(entry, file)}
        isReadOnly={!canWrite || isMixed || at.snapshot !== undefined}
        setUnsaved={setUnsaved}
        readAnew={async () => {
          const now = await queries.query({ ...statQuery(at), staleTime: 0 })
          if (isShown(now)) await refetch({ throwOnError: true })
        }}
      />
    </>
  )
}

/** Returns what a file has become that no editor shows, in words; null: it is a text. */
function unreadableWords(entry: FileEntry, file: FileContent): string | null {
  if (entry.type !== 'file') return `a ${entry.type}`
  if (!isShown(entry)) return 'too large to be shown'
  return file.encoding === 'utf-8' ? null : 'no text'
}

function isShown({ type, size_bytes: size }: FileEntry): boolean {
  return type === 'file' && size <= SHOWN_BYTES_MAX
}
