import { useBlocker } from '@tanstack/react-router'
import { X } from 'lucide-react'
import { errorWords } from '../../../api/error-words.ts'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { leaveWords } from '../../../ui/leave-words.ts'
import { Panel } from '../../../ui/page.tsx'
import { ProgressBar } from '../../../ui/progress-bar.tsx'
import { bytesText } from '../../../ui/words.ts'
import type { ItemUpload } from './upload-queue.ts'
import type { Uploads } from './uploads.ts'

/** The files on their way, with their progress. */
export function UploadList({ uploads: { queue, view } }: { uploads: Uploads }) {
  const { count, total, shown, sentBytes, totalBytes } = view
  const isBusy = count.sending + count.waiting > 0
  const blocker = useBlocker({ shouldBlockFn: () => isBusy, enableBeforeUnload: () => isBusy, withResolver: true })
  if (total === 0) return null
  return (
    <Panel
      title="Uploads"
      actions={
        <span role="status" className="text-muted">
          {count.done} of {total} done{count.failed > 0 && `, ${count.failed} failed`}
          {count.taken > 0 && `, ${count.taken} already exist`}
        </span>
      }
    >
      {total > 1 && (
        <div className="mb-3">
          <Progress
            name="All files"
            words={`${bytesText(sentBytes)} of ${bytesText(totalBytes)}`}
            percent={totalBytes > 0 ? (100 * sentBytes) / totalBytes : (100 * count.done) / total}
          />
        </div>
      )}
      <ul className="flex max-h-72 flex-col gap-3 overflow-y-auto">
        {shown.map((upload) => (
          <li key={upload.id} className="flex items-center gap-3">
            <div className="min-w-0 flex-1">
              <UploadProgress upload={upload} />
              {upload.state === 'failed' && <p className="text-xs text-bad">{errorWords(upload.error)}</p>}
            </div>
            {upload.state === 'taken' && <Button onClick={() => queue.again(upload.id)}>Replace</Button>}
            {upload.state === 'failed' && <Button onClick={() => queue.again(upload.id)}>Try again</Button>}
            <button
              type="button"
              aria-label={`Remove ${upload.path} from the list`}
              className="rounded p-1 hover:bg-raised"
              onClick={() => queue.remove(upload.id)}
            >
              <X aria-hidden className="size-4" />
            </button>
          </li>
        ))}
        {total > shown.length && <li className="text-muted">and {total - shown.length} more</li>}
      </ul>
      <Confirm
        {...leaveWords('Leave while files are uploading?', 'Unfinished uploads stop and leave nothing in the box.')}
        action="Leave"
        isOpen={blocker.status === 'blocked'}
        close={() => blocker.reset?.()}
        act={() => blocker.proceed?.()}
      />
    </Panel>
  )
}

function UploadProgress({ upload }: { upload: ItemUpload }) {
  const { path, sentBytes, file, state } = upload
  const size = file?.size ?? 0
  const percent = size > 0 ? (100 * sentBytes) / size : state === 'done' ? 100 : 0
  return <Progress name={file === null ? `${path}/` : path} words={wordsOfUpload(upload)} percent={percent} />
}

function Progress({ name, words, percent }: { name: string; words: string; percent: number }) {
  return (
    <>
      <div className="flex flex-wrap justify-between gap-x-3">
        <span className="break-all">{name}</span>
        <span className="text-muted tabular-nums">{words}</span>
      </div>
      <ProgressBar label={name} words={words} percent={percent} className="mt-1 h-1.5" />
    </>
  )
}

function wordsOfUpload({ state, sentBytes, file }: ItemUpload): string {
  if (state === 'sending') return file === null ? 'creating' : `${bytesText(sentBytes)} of ${bytesText(file.size)}`
  return {
    waiting: 'waiting',
    done: file === null ? 'empty directory, done' : `${bytesText(file.size)}, done`,
    taken: 'a file with this name exists',
    failed: 'failed',
  }[state]
}
