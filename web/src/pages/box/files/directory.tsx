import { useSuspenseInfiniteQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Download as DownloadIcon, FilePlus, FolderPlus, SquareTerminal, Upload as UploadIcon } from 'lucide-react'
import { type DragEvent, useMemo, useRef, useState } from 'react'
import type { FileEntry } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Button, buttonStyle } from '../../../ui/button.tsx'
import { FilterInput } from '../../../ui/field.tsx'
import { Menu } from '../../../ui/menu.tsx'
import { Empty } from '../../../ui/page.tsx'
import { tellError } from '../../../ui/toasts.tsx'
import { VirtualRows } from '../../../ui/virtual-rows.tsx'
import { downloadTar } from './downloads.ts'
import { type DroppedItem, readDropped } from './dropped.ts'
import { EntryRow, type FileAct } from './entry-row.tsx'
import { DeleteEntry, MakeEntry, RenameEntry } from './file-dialogs.tsx'
import { childOf, type FilePlace } from './place.ts'
import { directoriesFirst, type FilesAt, listQuery } from './queries.ts'
import { RestorePath } from './restore-path.tsx'
import { UploadList } from './upload-list.tsx'
import { useUploads } from './uploads.ts'

/** The entries of a directory, and a form to create one. Accepts dropped files. */
export function Directory({ at }: { at: FilesAt }) {
  const { box, place, snapshot } = at
  const { canWrite } = useRights()
  const isChangeable = canWrite && snapshot === undefined
  const list = useSuspenseInfiniteQuery(listQuery(at))
  const [text, setText] = useState('')
  const [making, setMaking] = useState<'directory' | 'file' | null>(null)
  const [acting, setActing] = useState<{ what: FileAct; place: FilePlace; type: FileEntry['type'] } | null>(null)
  const uploads = useUploads(box, place)
  const drop = useDrop(isChangeable ? (items) => void readDropped(items).then(uploads.queue.add, tellError) : null)
  const files = useMemo(() => directoriesFirst(list.data.pages.flatMap((page) => page.files)), [list.data])
  const shown = files.filter(({ path }) => path.toLowerCase().includes(text.toLowerCase()))
  const actingOn = (what: FileAct): FilePlace | null => (acting?.what === what ? acting.place : null)
  const actOnThis = (what: FileAct): void => setActing({ what, place, type: 'directory' })
  const close = (): void => setActing(null)
  return (
    <div {...drop.handlers} className={drop.isOver ? 'rounded-lg outline-2 outline-offset-4 outline-accent' : ''}>
      <div className="flex flex-col gap-4">
        <div className="flex flex-wrap items-center gap-2">
          <FilterInput label="Filter by name" value={text} onChange={(event) => setText(event.target.value)} />
          {isChangeable && <MakeButtons add={uploads.queue.add} make={setMaking} />}
          <Button onClick={() => void downloadTar(at).catch(tellError)}>
            <DownloadIcon aria-hidden className="size-4" /> Download as tar
          </Button>
          <TerminalLink at={at} />
          {snapshot !== undefined && canWrite && place.text !== '/' && (
            <Button onClick={() => actOnThis('restore')}>Restore directory</Button>
          )}
          {isChangeable && place.text !== '/' && (
            <Menu
              label="More actions"
              items={[
                { key: 'rename', words: 'Rename directory', act: () => actOnThis('rename') },
                { key: 'delete', words: 'Delete directory', isDanger: true, act: () => actOnThis('delete') },
              ]}
            />
          )}
        </div>
        <UploadList uploads={uploads} />
        {files.length === 0 ? (
          <Empty title="This directory is empty">{isChangeable && 'Drop files here, or create one.'}</Empty>
        ) : (
          <VirtualRows
            label={`Entries of ${place.text}`}
            items={shown}
            rowPx={41}
            keyOf={({ path, path_base64: bytes }) => bytes ?? path}
          >
            {(entry) => (
              <EntryRow
                at={{ ...at, place: childOf(place, entry) }}
                entry={entry}
                act={(what) => setActing({ what, place: childOf(place, entry), type: entry.type })}
              />
            )}
          </VirtualRows>
        )}
        {list.hasNextPage && (
          <Button disabled={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
            Show more ({files.length} shown)
          </Button>
        )}
      </div>
      <MakeEntry box={box} place={place} what={making} close={() => setMaking(null)} />
      <RenameEntry box={box} place={actingOn('rename')} close={close} />
      <DeleteEntry box={box} place={actingOn('delete')} type={acting?.type ?? 'file'} close={close} />
      <RestorePath box={box} snapshot={snapshot ?? ''} place={actingOn('restore')} close={close} />
    </div>
  )
}

/** Opens a terminal in a directory, if the path is text that a request can name. */
function TerminalLink({ at: { box, place, snapshot } }: { at: FilesAt }) {
  const { canExec } = useRights()
  if (!canExec || snapshot !== undefined || place.base64 !== null) return null
  return (
    <Link to="/boxes/$project/$name/terminal" params={box} search={{ cwd: place.text }} className={buttonStyle()}>
      <SquareTerminal aria-hidden className="size-4" /> Open terminal here
    </Link>
  )
}

interface MakeButtonsProps {
  add(files: DroppedItem[]): void
  make(what: 'directory' | 'file'): void
}

function MakeButtons({ add, make }: MakeButtonsProps) {
  return (
    <>
      <UploadButton add={(chosen) => add(chosen.map((file) => ({ path: file.name, file })))} />
      <Button onClick={() => make('directory')}>
        <FolderPlus aria-hidden className="size-4" /> New directory
      </Button>
      <Button onClick={() => make('file')}>
        <FilePlus aria-hidden className="size-4" /> New file
      </Button>
    </>
  )
}

function UploadButton({ add }: { add(files: File[]): void }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label="Files to upload"
        onChange={(event) => {
          add([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      <Button onClick={() => input.current?.click()} title="Or drop files onto the list">
        <UploadIcon aria-hidden className="size-4" /> Upload
      </Button>
    </>
  )
}

/** Accepts items dropped onto an element. Null accepts nothing. */
function useDrop(take: ((items: DataTransferItemList) => void) | null) {
  const [isOver, setOver] = useState(false)
  if (take === null) return { isOver: false, handlers: {} }
  const handlers = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes('Files')) return
      event.preventDefault()
      setOver(true)
    },
    onDragLeave: () => setOver(false),
    onDrop: (event: DragEvent) => {
      event.preventDefault()
      setOver(false)
      take(event.dataTransfer.items)
    },
  }
  return { isOver, handlers }
}
