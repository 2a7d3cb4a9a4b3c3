import { useBlocker } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { Panel } from '../../../ui/page.tsx'
import { wordsOf } from '../../../ui/problem.tsx'
import { bytesText } from '../../../ui/words.ts'
import type { FileUpload } from './uploads.ts'

interface UploadListProps {
  uploads: readonly FileUpload[]
  again(upload: FileUpload): void
  remove(id: number): void
}

/** The files on their way, with their progress. */
export function UploadList({ uploads, again, remove }: UploadListProps) {
  const isBusy = uploads.some(({ state }) => state === 'sending' || state === 'waiting')
  const blocker = useBlocker({ shouldBlockFn: () => isBusy, enableBeforeUnload: () => isBusy, withResolver: true })
  if (uploads.length === 0) return null
  const done = uploads.filter(({ state }) => state === 'done').length
  return (
    <Panel
      title="Uploads"
      actions={
        <span role="status" className="text-muted">
          {done} of {uploads.length} done
        </span>
      }
    >
      <ul className="flex max-h-72 flex-col gap-3 overflow-y-auto">
        {uploads.map((upload) => (
          <li key={upload.id} className="flex items-center gap-3">
            <div className="min-w-0 flex-1">
              <Progress upload={upload} />
              {upload.state === 'failed' && <p className="text-xs text-bad">{wordsOf(upload.error)}</p>}
            </div>
            {upload.state === 'taken' && <Button onClick={() => again(upload)}>Replace it</Button>}
            {upload.state === 'failed' && <Button onClick={() => again(upload)}>Try again</Button>}
            <button
              type="button"
              aria-label={`Take ${upload.path} off the list`}
              className="rounded p-1 hover:bg-raised"
              onClick={() => remove(upload.id)}
            >
              <X aria-hidden className="size-4" />
            </button>
          </li>
        ))}
      </ul>
      <Confirm
        title="Leave while files are sent?"
        about="Those that have not arrived are broken off, and leave nothing in the box."
        action="Leave"
        isOpen={blocker.status === 'blocked'}
        close={() => blocker.reset?.()}
        act={() => blocker.proceed?.()}
      />
    </Panel>
  )
}

function Progress({ upload }: { upload: FileUpload }) {
  const { path, sentBytes, file } = upload
  const percent = file.size === 0 ? 100 : Math.round((100 * sentBytes) / file.size)
  const words = wordsOfUpload(upload)
  return (
    <>
      <div className="flex flex-wrap justify-between gap-x-3">
        <span className="break-all">{path}</span>
        <span className="text-muted tabular-nums">{words}</span>
      </div>
      <div
        role="progressbar"
        aria-label={path}
        aria-valuenow={percent}
        aria-valuetext={words}
        className="mt-1 h-1.5 overflow-hidden rounded-full bg-raised"
      >
        <div className="h-full bg-accent" style={{ width: `${percent}%` }} />
      </div>
    </>
  )
}

function wordsOfUpload({ state, sentBytes, file }: FileUpload): string {
  if (state === 'sending') return `${bytesText(sentBytes)} of ${bytesText(file.size)}`
  return {
    waiting: 'waiting',
    done: `${bytesText(file.size)}, done`,
    taken: 'a file of this name is there',
    failed: 'failed',
  }[state]
}
