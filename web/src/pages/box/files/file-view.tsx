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
import type { FileAct } from './entry-row.tsx'
import { DeleteEntry, RenameEntry } from './file-dialogs.tsx'
import { useHeld } from './held.ts'
import { lineEndsOf } from './line-ends.ts'
import { type FilePlace, nameOfPlace } from './place.ts'
import { contentQuery, type FilesAt, SHOWN_BYTES_MAX, statQuery } from './queries.ts'
import { RestorePath } from './restore-path.tsx'
import { TextEditor } from './text-editor.tsx'

interface FileViewProps {
  at: FilesAt
  /** The current entry at the path. */
  entry: FileEntry
  /** Whether it was deleted after the read. */
  isGone: boolean
  /** The shown entry: the entry that was at the path when an editor with unsaved text was opened there. */
  shown: FileEntry
  /** Whether such an editor is open, and the function that sets this. */
  unsaved: readonly [isUnsaved: boolean, setUnsaved: (isUnsaved: boolean) => void]
}

/** One file, with its text to read and edit, or a download. */
export function FileView({ at, entry, isGone, shown, unsaved }: FileViewProps) {
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-3">
        <span className="text-muted">
          {bytesText(entry.size_bytes)} · mode {entry.mode} · owner {entry.uid}:{entry.gid} · changed{' '}
          <Ago time={entry.modified_at} />
        </span>
        <FileActions at={at} isUnsaved={unsaved[0]} />
      </div>
      {shown.size_bytes > SHOWN_BYTES_MAX ? (
        <Empty title="This file is too large to show">
          Download it to read more than {bytesText(SHOWN_BYTES_MAX)}.
        </Empty>
      ) : (
        <Content at={at} entry={entry} isGone={isGone} unsaved={unsaved} />
      )}
    </>
  )
}

/** Actions on the file as a whole. */
function FileActions({ at, isUnsaved }: { at: FilesAt; isUnsaved: boolean }) {
  const { box, place, snapshot } = at
  const { canWrite } = useRights()
  const [asking, setAsking] = useState<FileAct | null>(null)
  const placeIf = (what: FileAct): FilePlace | null => (asking === what ? place : null)
  const close = (): void => setAsking(null)
  return (
    <span className="flex flex-wrap gap-2">
      <Button onClick={() => void downloadFile(at).catch(tellError)}>Download</Button>
      {canWrite && snapshot !== undefined && <Button onClick={() => setAsking('restore')}>Restore file</Button>}
      {canWrite && snapshot === undefined && (
        <>
          <Button
            disabled={isUnsaved}
            title={isUnsaved ? 'Save your changes first' : undefined}
            onClick={() => setAsking('rename')}
          >
            Rename
          </Button>
          <Button kind="danger" onClick={() => setAsking('delete')} aria-label={`Delete ${nameOfPlace(place)}`}>
            Delete
          </Button>
        </>
      )}
      <RenameEntry box={box} place={placeIf('rename')} close={close} />
      <DeleteEntry box={box} place={placeIf('delete')} type="file" close={close} />
      <RestorePath box={box} snapshot={snapshot ?? ''} place={placeIf('restore')} close={close} />
    </span>
  )
}

function Content({ at, entry, isGone, unsaved: [isUnsaved, setUnsaved] }: Omit<FileViewProps, 'shown'>) {
  const { canWrite } = useRights()
  const queries = useQueryClient()
  const { data: file, error, refetch } = useQuery(contentQuery(at))
  const shown = useHeld(file, isUnsaved)
  if (file === undefined || shown === undefined) {
    return error === null ? <Loading /> : <Problem error={error} retry={() => void refetch()} />
  }
  if (shown.encoding !== 'utf-8') {
    return <Empty title="This file is not text">Its bytes are not UTF-8. Download it instead.</Empty>
  }
  const isMixed = lineEndsOf(shown.content) === 'mixed'
  return (
    <>
      {isMixed && canWrite && at.snapshot === undefined && (
        <p className="rounded-md bg-warn-soft px-3 py-2">
          This file mixes line endings, which a browser would change. It is read-only here.
        </p>
      )}
      <TextEditor
        at={at}
        file={file}
        became={isGone ? 'it was deleted' : unreadableWords(entry, file)}
        isGone={isGone}
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

/** Describes what a file has become if no editor can show it, or returns null if it is still a text. */
function unreadableWords(entry: FileEntry, file: FileContent): string | null {
  if (entry.type !== 'file') return `it is now a ${entry.type}`
  if (!isShown(entry)) return 'it is now too large to show'
  return file.encoding === 'utf-8' ? null : 'it is no longer text'
}

function isShown({ type, size_bytes: size }: FileEntry): boolean {
  return type === 'file' && size <= SHOWN_BYTES_MAX
}
