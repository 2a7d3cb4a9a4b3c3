import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { FileEntry } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button } from '../../../ui/button.tsx'
import { Ago } from '../../../ui/now.tsx'
import { Empty, Loading } from '../../../ui/page.tsx'
import { Problem } from '../../../ui/problem.tsx'
import { tellError } from '../../../ui/toasts.tsx'
import { bytesText } from '../../../ui/words.ts'
import { downloadFile } from './downloads.ts'
import { lineEndsOf } from './line-ends.ts'
import type { FilePlace } from './place.ts'
import { contentQuery, type FilesAt, SHOWN_BYTES_MAX } from './queries.ts'
import { RestorePath } from './restore-path.tsx'
import { TextEditor } from './text-editor.tsx'

/** One file: its text to read and edit, or else to download. */
export function FileView({ at, entry }: { at: FilesAt; entry: FileEntry }) {
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
      {entry.size_bytes > SHOWN_BYTES_MAX ? (
        <Empty title="This file is too large to be shown">More than {bytesText(SHOWN_BYTES_MAX)}: download it.</Empty>
      ) : (
        <Content at={at} />
      )}
      <RestorePath box={at.box} snapshot={at.snapshot ?? ''} place={restoring} close={() => setRestoring(null)} />
    </>
  )
}

function Content({ at }: { at: FilesAt }) {
  const { canWrite } = useRights()
  const { data: file, error, refetch } = useQuery(contentQuery(at))
  if (file === undefined) {
    return error === null ? <Loading what="Reading" /> : <Problem error={error} retry={() => void refetch()} />
  }
  if (file.encoding !== 'utf-8') {
    return <Empty title="This file is not text">It has bytes that are not UTF-8: download it.</Empty>
  }
  const isMixed = lineEndsOf(file.content) === 'mixed'
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
        isReadOnly={!canWrite || isMixed || at.snapshot !== undefined}
        readAnew={async () => (await refetch({ throwOnError: true })).data}
      />
    </>
  )
}
