import { Download as DownloadIcon, File, FileSymlink, Folder, History, Pencil, Trash2 } from 'lucide-react'
import type { ComponentProps } from 'react'
import type { FileEntry } from '../../../api/records.ts'
import { useRights } from '../../../shell/rights.ts'
import { Ago } from '../../../ui/now.tsx'
import { tellError } from '../../../ui/toasts.tsx'
import { bytesText } from '../../../ui/words.ts'
import { downloadFile, downloadTar } from './downloads.ts'
import { nameOfPlace } from './place.ts'
import { PlaceLink } from './place-link.tsx'
import type { FilesAt } from './queries.ts'

/** Actions on an entry of a directory. */
export type FileAct = 'rename' | 'delete' | 'restore'

/** An entry of a directory. */
export function EntryRow({ at, entry, act }: { at: FilesAt; entry: FileEntry; act(what: FileAct): void }) {
  const { canWrite } = useRights()
  const { type, size_bytes: size, mode, uid, gid, modified_at: changed, target } = entry
  const name = nameOfPlace(at.place)
  const Icon = type === 'directory' ? Folder : type === 'symlink' ? FileSymlink : File
  const isNow = at.snapshot === undefined
  return (
    <div className="flex flex-wrap items-center gap-x-2 px-3 py-1.5 sm:gap-x-4">
      <span className="flex min-w-0 flex-1 basis-36 items-center gap-2">
        <Icon aria-hidden className={`size-4 shrink-0 ${type === 'directory' ? 'text-accent' : 'text-muted'}`} />
        <span className="min-w-0 break-all">
          <PlaceLink at={at} className="no-underline! hover:underline!">
            {name}
          </PlaceLink>
          {target !== null && <span className="text-muted"> → {target}</span>}
          <span className="sr-only">, {type}</span>
        </span>
      </span>
      <span className="w-16 text-right text-xs text-muted tabular-nums">{type === 'file' && bytesText(size)}</span>
      <span
        className="w-36 truncate font-mono text-xs text-muted max-md:hidden"
        title={`Permissions ${mode}, owner ${uid}, group ${gid}`}
      >
        {mode} {uid}:{gid}
      </span>
      <span className="w-24 text-right text-xs text-muted max-sm:hidden">
        <Ago time={changed} />
      </span>
      <span className="ml-auto flex w-24 justify-end">
        {type === 'file' && (
          <IconButton label={`Download ${name}`} onClick={() => void downloadFile(at).catch(tellError)}>
            <DownloadIcon aria-hidden className="size-4" />
          </IconButton>
        )}
        {type === 'directory' && (
          <IconButton label={`Download ${name} as tar`} onClick={() => void downloadTar(at).catch(tellError)}>
            <DownloadIcon aria-hidden className="size-4" />
          </IconButton>
        )}
        {canWrite && isNow && (
          <>
            <IconButton label={`Rename ${name}`} onClick={() => act('rename')}>
              <Pencil aria-hidden className="size-4" />
            </IconButton>
            <IconButton label={`Delete ${name}`} onClick={() => act('delete')}>
              <Trash2 aria-hidden className="size-4" />
            </IconButton>
          </>
        )}
        {canWrite && !isNow && (
          <IconButton label={`Restore ${name}`} onClick={() => act('restore')}>
            <History aria-hidden className="size-4" />
          </IconButton>
        )}
      </span>
    </div>
  )
}

function IconButton({ label, ...rest }: { label: string } & ComponentProps<'button'>) {
  return <button type="button" aria-label={label} title={label} className="rounded p-1.5 hover:bg-line" {...rest} />
}
