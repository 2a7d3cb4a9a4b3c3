import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { type JobInput, runJob } from '../../api/jobs.ts'
import { sendBytes } from '../../api/transfers.ts'
import { rememberProject } from '../../shell/project-field.tsx'
import { CheckField, TextField } from '../../ui/field.tsx'
import type { FormValues } from '../../ui/form.tsx'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import { tell, tellError } from '../../ui/toasts.tsx'
import { bytesText } from '../../ui/words.ts'

/** How much of an archive has been sent. */
interface SentPart {
  bytes: number
  total: number
}

/** Asks for an archive, and shows its upload progress. */
export function ArchiveFields({ sent }: { sent: SentPart | null }) {
  return (
    <>
      <TextField
        label="Archive"
        name="archive"
        type="file"
        required
        accept=".tar,.gz,.tgz,.zst,.tzst"
        hint="A tar of a root filesystem, such as from docker export. Plain, gzip or zstd."
      />
      <CheckField label="This is an image" name="imageArchive" hint="From docker save, or an OCI image layout." />
      {sent !== null && <Sent {...sent} />}
    </>
  )
}

function Sent({ bytes, total }: SentPart) {
  const isAll = bytes >= total
  const words = isAll ? 'Unpacking…' : `${bytesText(bytes)} of ${bytesText(total)}`
  const percent = total === 0 ? 100 : Math.round((100 * bytes) / total)
  return (
    <div>
      <p role="status" className="text-muted tabular-nums">
        {words}
      </p>
      <ProgressBar label="Archive upload" words={words} percent={percent} isPulsing={isAll} className="mt-1 h-2" />
    </div>
  )
}

/** Creates a base from an uploaded archive. Closing the dialog during the upload aborts it, which leaves nothing. */
export function useArchiveUpload(project: string, close: () => void) {
  const queries = useQueryClient()
  const [sent, setSent] = useState<SentPart | null>(null)
  const stop = useRef<AbortController | null>(null)
  useEffect(() => () => stop.current?.abort(new Error('The upload was canceled.')), [])
  const upload = useMutation({
    mutationFn: async (form: FormValues) => {
      const bytes = form.file('archive')
      if (bytes === null) throw new Error('Select an archive.')
      stop.current = new AbortController()
      setSent({ bytes: 0, total: bytes.size })
      const answer = await sendBytes({
        method: 'POST',
        path: `/v1/projects/${encodeURIComponent(project)}/bases?${queryOf(form)}`,
        headers: { 'content-type': 'application/x-tar' },
        bytes,
        onProgress: (done) => setSent({ bytes: done, total: bytes.size }),
        signal: stop.current.signal,
      })
      stop.current = null
      const name = form.has('shared') ? form.text('name') : `${project}/${form.text('name')}`
      rememberProject(project)
      close()
      const words = `Creating base ${name} from ${bytes.name}`
      void runJob({ words, place: 'bases', input: inputOf(form, project) }, () => Promise.resolve(answer))
        .then(() => tell(`Created base ${name}.${leftOutText(answer.body)}`), tellError)
        .finally(() => void queries.invalidateQueries({ queryKey: ['bases'] }))
    },
    onError: (error) => {
      setSent(null)
      // A user who has closed the dialog no longer sees the error there.
      if (stop.current?.signal.aborted) tellError(error)
    },
  })
  useBlocker({ shouldBlockFn: () => false, enableBeforeUnload: () => upload.isPending })
  return { upload, sent }
}

/** Values that refill the form, except for the archive, which a page cannot choose. */
function inputOf(form: FormValues, project: string): JobInput {
  const shared = form.has('shared') ? { shared: 'on' } : {}
  return { project, source: 'archive', name: form.text('name'), ...shared }
}

function queryOf(form: FormValues): string {
  const flags = { ...(form.has('shared') && { shared: 'true' }), ...(form.has('imageArchive') && { image: 'true' }) }
  return new URLSearchParams({ name: form.text('name'), ...flags }).toString()
}

/** Says how many entries of the archive the service has omitted. */
function leftOutText({ unpacked }: Record<string, unknown>): string {
  if (typeof unpacked !== 'object' || unpacked === null || !('refused' in unpacked)) return ''
  const count = Array.isArray(unpacked.refused) ? unpacked.refused.length : 0
  return count === 0
    ? ''
    : ` Skipped ${count} ${count === 1 ? 'entry' : 'entries'}, such as devices and links that leave the archive.`
}
