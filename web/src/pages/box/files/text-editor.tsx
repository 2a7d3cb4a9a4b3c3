import { ApiError } from '@boxyard/sdk'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useBlocker } from '@tanstack/react-router'
import { useEffect, useMemo, useRef, useState } from 'react'
import { api } from '../../../api/client.ts'
import type { FileContent } from '../../../api/records.ts'
import { Button } from '../../../ui/button.tsx'
import { Confirm } from '../../../ui/confirm.tsx'
import { leaveWords } from '../../../ui/leave-words.ts'
import { tell, tellError } from '../../../ui/toasts.tsx'
import { boxResource } from '../../../ui/undo-end.ts'
import { useFilesRefresh } from './file-dialogs.tsx'
import { lineEndsOf, lineNumbers, withLineEnds } from './line-ends.ts'
import { placeQuery } from './place.ts'
import { contentQuery, type FilesAt, isFileGone, statQuery } from './queries.ts'
import { type ConflictKind, SaveConflict } from './save-conflict.tsx'

interface TextEditorProps {
  at: FilesAt
  /** The current content of the file. */
  file: FileContent
  /** Why no editor can show the file any more, such as `it is no text now`, or null if it is a text. */
  became: string | null
  /** Whether it was deleted after the read. */
  isGone: boolean
  isReadOnly: boolean
  /** Called with whether the text is unsaved. While it is unsaved, this editor stays. */
  setUnsaved(isUnsaved: boolean): void
  /** Reads the file again. The answer arrives as `file`. */
  readAnew(): Promise<void>
}

/** A text with line numbers. Saves it only if the file is still unchanged since the read, or if the user overwrites it. */
export function TextEditor(props: TextEditorProps) {
  const { at, file, became, isGone, isReadOnly, setUnsaved, readAnew } = props
  // The text at the start of editing. It stays the same during the edit, whatever is read.
  const [base, setBase] = useState(file)
  const [text, setText] = useState(() => withLineEnds(file.content, 'lf'))
  const [conflict, setConflict] = useState<ConflictKind | null>(null)
  const content = withLineEnds(text, lineEndsOf(base.content))
  const isChanged = !isReadOnly && content !== base.content
  const begin = (from: FileContent): void => {
    setBase(from)
    setText(withLineEnds(from.content, 'lf'))
  }
  const isOther = became !== null || file.etag !== base.etag
  if (isOther && became === null && !isChanged) begin(file)
  useEffect(() => setUnsaved(isChanged), [isChanged, setUnsaved])
  useEffect(() => () => setUnsaved(false), [setUnsaved])
  // A file that is no longer a text is a conflict, whatever the service would answer to a write.
  const saveCarefully = (): void =>
    became === null ? save.mutate({ content, over: 'what was read' }) : setConflict(isGone ? 'deleted' : 'changed')
  const save = useSave(at, { base, onSaved: setBase, onConflict: setConflict })
  const refresh = useFilesRefresh(at.box)
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
        if (isChanged && !save.isPending) saveCarefully()
      }}
    >
      {!isReadOnly && (
        <div className="flex flex-wrap items-center gap-2">
          <Button kind="primary" title="Ctrl-S" disabled={!isChanged || save.isPending} onClick={saveCarefully}>
            {save.isPending ? 'Saving…' : 'Save'}
          </Button>
          <Button disabled={!isChanged} onClick={() => begin(base)}>
            Discard changes
          </Button>
          <span role="status" className="text-muted">
            {isChanged ? 'Unsaved changes' : ''}
          </span>
        </div>
      )}
      {isOther && isChanged && <ChangedNote became={became} />}
      <NumberedText text={text} setText={isReadOnly ? null : setText} />
      <SaveConflict
        path={at.place.text}
        kind={conflict}
        close={() => setConflict(null)}
        giveUp={() => void (conflict === 'deleted' ? refresh() : readAnew()).then(() => begin(base), tellError)}
        write={() => save.mutate({ content, over: conflict === 'deleted' ? 'nothing' : 'anything' })}
      />
      <Confirm
        {...leaveWords(`Leave ${at.place.text} without saving?`, 'Your changes will be lost.')}
        action="Leave"
        isOpen={blocker.status === 'blocked'}
        close={() => blocker.reset?.()}
        act={() => blocker.proceed?.()}
      />
    </section>
  )
}

function ChangedNote({ became }: Pick<TextEditorProps, 'became'>) {
  return (
    <p role="status" className="rounded-md bg-warn-soft px-3 py-2">
      The file has changed since you opened it{became !== null && `: ${became}`}. Your text stays here. Saving asks
      before it overwrites anything.
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

interface Saving {
  base: FileContent
  onSaved(file: FileContent): void
  onConflict(kind: ConflictKind): void
}

interface Save {
  content: string
  /** Condition on the path for the write. */
  over: 'what was read' | 'anything' | 'nothing'
}

/** Writes the file. Undo restores its earlier content, unless another user or program has written to it. */
function useSave(at: FilesAt, { base, onSaved, onConflict }: Saving) {
  const queries = useQueryClient()
  const refresh = useFilesRefresh(at.box)
  const write = (content: string, over: Save['over'], etag: string) => {
    // A recreated file gets its earlier mode, and the directories that were deleted with it.
    const anew = over === 'nothing' ? { parents: true, mode: base.mode } : {}
    const headers = { 'what was read': { 'if-match': etag }, anything: {}, nothing: { 'if-none-match': '*' } }[over]
    return api().call('writeFile', {
      path: { project: at.box.project, name: at.box.name },
      query: { ...placeQuery(at.place), ...anew },
      body: { content },
      headers,
    })
  }
  return useMutation({
    mutationFn: ({ content, over }: Save) => write(content, over, base.etag),
    onSuccess: async (after, { content, over }) => {
      const saved = { ...base, ...after, content }
      queries.setQueryData(contentQuery(at).queryKey, saved)
      onSaved(saved)
      const undo = (): void => void write(base.content, 'what was read', after.etag).then(refresh, tellError)
      if (over === 'nothing') tell(`Saved ${at.place.text} as a new file.`)
      else tell(`Saved ${at.place.text}.`, over === 'anything' ? undefined : undo, { of: [boxResource(at.box)] })
      await refresh()
    },
    onError: async (error) => {
      const isOther = error instanceof ApiError && error.code === 'precondition_failed'
      if (!isOther && !isFileGone(error)) return tellError(error)
      try {
        await queries.query({ ...statQuery(at), staleTime: 0 })
        onConflict('changed')
      } catch (reason) {
        if (isFileGone(reason)) onConflict('deleted')
        else tellError(error)
      }
    },
  })
}
