import { ApiError } from '@boxyard/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { api } from '../../../api/client.ts'
import type { FileContent } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { useFilesRefresh } from './file-dialogs.tsx'
import { lineEndsOf, lineNumbers, withLineEnds } from './line-ends.ts'
import { placeQuery } from './place.ts'
import { contentQuery, type FilesAt } from './queries.ts'

interface TextEditorProps {
  at: FilesAt
  /** What the file holds now. */
  file: FileContent
  /** What the file has become that no editor shows, in words; null: it is a text. */
  unreadable: string | null
  isReadOnly: boolean
  /** Told whether there is a text that is not saved: until it is, this editor stays. */
  setUnsaved(isUnsaved: boolean): void
  /** Reads the file anew; the answer comes as `file`. */
  readAnew(): Promise<void>
}

/** A text with the numbers of its lines. It is saved only if the file is still what was read, or that is asked for. */
export function TextEditor({ at, file, unreadable, isReadOnly, setUnsaved, readAnew }: TextEditorProps) {
  // What the text began as: it stays the same while the text is edited, whatever is read meanwhile.
  const [base, setBase] = useState(file)
  const [text, setText] = useState(() => withLineEnds(file.content, 'lf'))
  const [isConflict, setConflict] = useState(false)
  const content = withLineEnds(text, lineEndsOf(base.content))
  const isChanged = !isReadOnly && content !== base.content
  const begin = (from: FileContent): void => {
    setBase(from)
    setText(withLineEnds(from.content, 'lf'))
  }
  const isOther = unreadable !== null || file.etag !== base.etag
  if (isOther && unreadable === null && !isChanged) begin(file)
  useEffect(() => setUnsaved(isChanged), [isChanged, setUnsaved])
  useEffect(() => () => setUnsaved(false), [setUnsaved])
  // What is no text any more is a conflict, whatever the service would say of a write to it.
  const saveUnforced = (): void => (unreadable === null ? save.mutate({ content, isForced: false }) : setConflict(true))
  const save = useSave(at, { base, onSaved: setBase, onConflict: () => setConflict(true) })
  const blocker = useBlocker({
    shouldBlockFn: () => isChanged,
    enableBeforeUnload: () => isChanged,
    withResolver: true,
  })
  return (
    <section
      aria-label={isReadOnly ? 'Content' : 'Editor'}
      className="flex flex-col gap-3"
      onKeyDown={(event) => {
        if (isReadOnly || event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
        event.preventDefault()
        if (isChanged && !save.isPending) saveUnforced()
      }}
    >
      {!isReadOnly && (
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="primary" title="Ctrl-S" disabled={!isChanged || save.isPending} onClick={saveUnforced}>
            {save.isPending ? 'Saving…' : 'Save'}
          </Button>
          <Button disabled={!isChanged} onClick={() => begin(base)}>
            Take my changes back
          </Button>
          <span role="status" className="text-muted">
            {isChanged ? 'Not saved yet' : ''}
          </span>
        </div>
      )}
      {isOther && isChanged && <ChangedNote unreadable={unreadable} />}
      <NumberedText text={text} setText={isReadOnly ? null : setText} />
      <Conflict
        path={at.place.text}
        isOpen={isConflict}
        close={() => setConflict(false)}
        readAnew={() => void readAnew().then(() => begin(base), tellError)}
        overwrite={() => save.mutate({ content, isForced: true })}
      />
      <Confirm
        title={`Leave ${at.place.text} without saving?`}
        about="What you changed here is lost."
        action="Leave"
        isOpen={blocker.status === 'blocked'}
        close={() => blocker.reset?.()}
        act={() => blocker.proceed?.()}
      />
    </section>
  )
}

function ChangedNote({ unreadable }: Pick<TextEditorProps, 'unreadable'>) {
  return (
    <p role="status" className="rounded-md bg-warn-soft px-3 py-2">
      The file has changed since you read it{unreadable !== null && `: it is ${unreadable} now`}. Your text stays here;
      saving asks before anything is overwritten.
    </p>
  )
}

function NumberedText({ text, setText }: { text: string; setText: ((text: string) => void) | null }) {
  const numbers = useRef<HTMLPreElement>(null)
  const lines = useMemo(() => lineNumbers(text), [text])
  return (
    <div className="flex h-[65vh] min-h-72 overflow-hidden rounded-lg border border-line bg-panel font-mono text-xs leading-5">
      <div aria-hidden className="overflow-hidden border-r border-line bg-raised text-right text-muted select-none">
        <pre ref={numbers} className="px-2 py-2">
          {lines}
        </pre>
      </div>
      <textarea
        aria-label="Text of the file"
        spellCheck={false}
        autoCapitalize="off"
        wrap="off"
        readOnly={setText === null}
        value={text}
        className="flex-1 resize-none bg-panel p-2 whitespace-pre -outline-offset-2"
        onChange={(event) => setText?.(event.target.value)}
        onScroll={(event) => {
          if (numbers.current) numbers.current.style.transform = `translateY(${-event.currentTarget.scrollTop}px)`
        }}
      />
    </div>
  )
}

interface ConflictProps {
  path: string
  isOpen: boolean
  close(): void
  readAnew(): void
  overwrite(): void
}

function Conflict({ path, isOpen, close, readAnew, overwrite }: ConflictProps) {
  const chosen = (act: () => void) => () => {
    close()
    act()
  }
  return (
    <Dialog
      title="The file has changed"
      about={`${path} is no longer what you read: somebody or something else has written to it. Nothing was saved.`}
      isOpen={isOpen}
      close={close}
    >
      <div className="flex flex-wrap justify-end gap-2">
        <Button onClick={close}>Go on editing</Button>
        <Button onClick={chosen(readAnew)}>Read it anew, without my changes</Button>
        <Button kind="danger" onClick={chosen(overwrite)}>
          Overwrite it
        </Button>
      </div>
    </Dialog>
  )
}

interface Saving {
  base: FileContent
  onSaved(file: FileContent): void
  onConflict(): void
}

/** Writes the file; what it held before is the undo, as long as nobody else has written to it. */
function useSave(at: FilesAt, { base, onSaved, onConflict }: Saving) {
  const queries = useQueryClient()
  const refresh = useFilesRefresh(at.box)
  const write = (content: string, etag: string | null) =>
    api().call('writeFile', {
      path: { project: at.box.project, name: at.box.name },
      query: placeQuery(at.place),
      body: { content },
      headers: etag === null ? {} : { 'if-match': etag },
    })
  return useMutation({
    mutationFn: ({ content, isForced }: { content: string; isForced: boolean }) =>
      write(content, isForced ? null : base.etag),
    onSuccess: async (after, { content, isForced }) => {
      const saved = { ...base, ...after, content }
      queries.setQueryData(contentQuery(at).queryKey, saved)
      onSaved(saved)
      const undo = (): void => void write(base.content, after.etag).then(refresh, tellError)
      tell(`${at.place.text} is saved.`, isForced ? undefined : undo)
      await refresh()
    },
    onError: (error) => {
      if (error instanceof ApiError && error.code === 'precondition_failed') onConflict()
      else tellError(error)
    },
  })
}
